#include <nlohmann/json.hpp>

#include "job.hpp"
#include "lockstep/base/build_info.hpp"
#include "lockstep/data/library_versions.hpp"

namespace lockstep::jobs {

std::string version_text() {
  return build_summary() + "\n" + comm::MpiSession::library_version() + "\n" +
         data::library_versions() + "\n" + report::logging_version() + ", " + boost_version() +
         ", nlohmann-json " + std::to_string(NLOHMANN_JSON_VERSION_MAJOR) + "." +
         std::to_string(NLOHMANN_JSON_VERSION_MINOR) + "." +
         std::to_string(NLOHMANN_JSON_VERSION_PATCH) + "\n";
}

}  // namespace lockstep::jobs
