#pragma once

namespace lockstep::comm {

/// True when the launcher's variables offer a rendezvous (PMIx or PMI) by which the tasks of a job
/// find each other.
[[nodiscard]] bool offers_rendezvous(const char* (*getenv)(const char*));

}  // namespace lockstep::comm
