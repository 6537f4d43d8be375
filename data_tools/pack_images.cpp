#include "lib/pack_request.hpp"
#include "lib/stop.hpp"
#include "lib/tool.hpp"

int main(int argc, char** argv) {
  using namespace lockstep;
  return tools::run_tool("pack_images", [&] {
    if (const auto request = tools::read_pack_request(argc, argv)) {
      tools::catch_stop_signals();
      tools::run_pack(*request);
    }
  });
}
