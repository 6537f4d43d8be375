#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Pickles for tests, opcode by opcode, as Python 2 and 3 write them.
namespace lockstep::pickles {

using std::string_literals::operator""s;

inline std::string little(std::uint64_t value, std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
  return text;
}

inline std::string proto(int version) { return "\x80" + little(static_cast<unsigned>(version), 1); }
inline std::string int1(unsigned value) { return "K" + little(value, 1); }
inline std::string int2(unsigned value) { return "M" + little(value, 2); }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string ordered_dict() { return global("collections", "OrderedDict"); }
inline std::string unicode(const std::string& text) { return "X" + little(text.size(), 4) + text; }
inline std::string short_unicode(const std::string& text) {
  return "\x8c" + little(text.size(), 1) + text;
}
/// Python 2's str.
inline std::string string2(const std::string& text) {
  return text.size() < 256 ? "U" + little(text.size(), 1) + text
                           : "T" + little(text.size(), 4) + text;
}
/// Bytes of Python 3, protocols 3 and up.
inline std::string bytes3(const std::string& text) {
  return text.size() < 256 ? "C" + little(text.size(), 1) + text
                           : "B" + little(text.size(), 4) + text;
}
inline std::string utf8_of_latin1(const std::string& text) {
  std::string utf8;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      utf8 += c;
    } else {
      utf8 += static_cast<char>(0xC0U | (byte >> 6U));
      utf8 += static_cast<char>(0x80U | (byte & 0x3FU));
    }
  }
  return utf8;
}
/// Bytes of Python 3 in protocol 2.
inline std::string encoded(const std::string& text) {
  return global("_codecs", "encode") + unicode(utf8_of_latin1(text)) + unicode("latin1") + "\x86R";
}

using MakeBytes = std::string (*)(const std::string&);

inline std::string dtype(const std::string& name) {
  return global("numpy", "dtype") + unicode(name) + "\x89\x88\x87R(" + int1(3) + unicode("|") +
         "NNN" + "J\xff\xff\xff\xff" + "J\xff\xff\xff\xff" + int1(0) + "tb";
}

/// An array of bytes with two axes, as numpy pickles it up to protocol 4.
inline std::string array(unsigned rows, unsigned columns, const std::string& values,
                         MakeBytes bytes, const std::string& multiarray = "numpy.core.multiarray",
                         bool column_major = false) {
  return global(multiarray, "_reconstruct") + global("numpy", "ndarray") + int1(0) + "\x85" +
         bytes("b") + "\x87R(" + int1(1) + int2(rows) + int2(columns) + "\x86" + dtype("u1") +
         (column_major ? "\x88" : "\x89") + bytes(values) + "tb";
}

inline std::vector<std::uint8_t> to_bytes(const std::string& text) {
  return {text.begin(), text.end()};
}

}  // namespace lockstep::pickles
