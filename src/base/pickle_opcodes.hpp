#pragma once

#include <cstdint>
#include <string>

namespace lockstep {

/// The opcodes of Python's pickles that are read: those that plain data needs, in protocols 2 to 5.
enum class PickleOp : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kProto = 0x80,
  kFrame = 0x95,
  // Plain values.
  kNone = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kLong1 = 0x8a,
  kFloat = 'G',
  // Bytes. What Python 2 called a string is bytes.
  kString = 'T',
  kShortString = 'U',
  kBytes = 'B',
  kShortBytes = 'C',
  kBytes8 = 0x8e,
  kByteArray8 = 0x96,
  kUnicode = 'X',
  kShortUnicode = 0x8c,
  kUnicode8 = 0x8d,
  // Containers.
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyTuple = ')',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  // Values that stand in several places.
  kPut = 'q',
  kLongPut = 'r',
  kMemoize = 0x94,
  kGet = 'h',
  kLongGet = 'j',
  // Names and what is done with them, which stays a description.
  kGlobal = 'c',
  kStackGlobal = 0x93,
  kPersistentId = 'Q',
  kReduce = 'R',
  kNewObject = 0x81,
  kBuild = 'b',
};

/// Python's name of an opcode, whether it is read here or not: "REDUCE", "INST"; "an unknown
/// opcode" for a byte that is none.
[[nodiscard]] std::string pickle_op_name(std::uint8_t opcode);

}  // namespace lockstep
