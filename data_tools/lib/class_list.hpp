#pragma once

#include <string>
#include <vector>

namespace lockstep::tools {

enum class ClassOrder {
  kByte,    ///< as bytes: "10" before "2", "Z" before "a" (torchvision's ImageFolder)
  kNatural  ///< runs of digits by their value: "2" before "10"
};

void sort_classes(std::vector<std::string>& classes, ClassOrder order);

/// Whether `a` comes before `b` when runs of digits count by their value and all else by its bytes.
/// Names that are equal then ("1" and "01") go by their bytes.
[[nodiscard]] bool natural_less(const std::string& a, const std::string& b);

/// The names in a text, one a line. Empty lines, a byte order mark and the CR of CRLF are left out.
[[nodiscard]] std::vector<std::string> names_in(const std::string& text);

/// Why these cannot be the classes of a set (none, one twice, one too long or not storable), naming
/// the class; "" when they can.
[[nodiscard]] std::string fault_of_classes(const std::vector<std::string>& classes);

/// The classes of a text file, in its order. Throws UsageError naming the file and what is wrong.
[[nodiscard]] std::vector<std::string> read_class_list(const std::string& file);

}  // namespace lockstep::tools
