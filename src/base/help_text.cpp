#include <algorithm>
#include <sstream>

#include "lockstep/base/cli.hpp"
#include "option_table.hpp"

namespace lockstep {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::size_t kIndent = 34;

/// Appends `text` from column kIndent on, broken between words.
void append_wrapped(std::string& out, std::size_t column, const std::string& text) {
  std::istringstream words(text);
  std::string word;
  if (column + 1 > kIndent) {
    out += '\n';
    column = 0;
  }
  out.append(kIndent - column, ' ');
  column = kIndent;
  while (words >> word) {
    if (column > kIndent && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(kIndent, ' ');
      column = kIndent;
    } else if (column > kIndent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

std::string explanation(const Option& option) {
  std::string text = option.help;
  std::string words;
  for (const std::string& word : option.words) {
    words += (words.empty() ? "" : " | ") + word;
  }
  const std::string allowed = words.empty() ? option.range.text() : words;
  const std::string standard = option_text(RunConfig{}, option);
  text += " [" + (standard.empty() ? std::string("empty") : standard);
  text += allowed.empty() ? "]" : "; " + allowed + "]";
  return text;
}

}  // namespace

std::string help_text(const std::vector<std::string>& verb_lines) {
  std::string text =
      "Lockstep trains image classifiers, data-parallel over MPI ranks.\n\n"
      "  lockstep VERB [--config FILE]... [--section.key VALUE]...\n"
      "  mpirun -np 4 lockstep train --config configs/cifar_cnn.cfg --data.train shards/train\n"
      "  mpirun -np 4 lockstep evaluate --checkpoint runs/NAME/checkpoints/best \\\n"
      "               --data.test shards/test\n\nVerbs\n";
  for (const std::string& line : verb_lines) {
    text += "  " + line + "\n";
  }
  text += "\nGeneral\n";
  const auto general = [&](const std::string& name, const std::string& help) {
    text += "  " + name;
    append_wrapped(text, name.size() + 2, help);
  };
  general("--config FILE", "read a file of options; may be repeated, later ones win");
  general("--checkpoint PATH", "evaluate: a checkpoint folder, or the file best or latest");
  general("--print-config", "show every value and where it came from, and leave");
  general("--help, --version", "show this text, or what was built");
  std::string section;
  for (const Option& option : option_table()) {
    if (option.hidden) {
      continue;
    }
    if (option.section != section) {
      section = option.section;
      text += "\n[" + section + "]\n";
    }
    const std::string name = "--" + option.name() + " " + option.placeholder;
    text += "  " + name;
    append_wrapped(text, name.size() + 2, explanation(option));
  }
  text +=
      "\nIn brackets: the default, then what is allowed. Files hold [section] and key = value "
      "lines.\n"
      "\nExit codes\n"
      "  0   done\n"
      "  1   failed\n"
      "  2   wrong use or configuration\n"
      "  85  saved and stopped on request, go on later\n";
  return text;
}

}  // namespace lockstep
