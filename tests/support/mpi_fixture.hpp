#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "lockstep/comm/mpi_session.hpp"

namespace lockstep::test {

/// The session that the rank-aware main of the MPI tests keeps open around all tests.
[[nodiscard]] comm::MpiSession& mpi_session();

/// A test that every rank runs. Each communicator it makes is its own, so a test that failed half
/// way on one rank leaves the next ones in step.
class MpiTest : public ::testing::Test {
 protected:
  static constexpr double kTimeoutSeconds = 30;

  [[nodiscard]] static const comm::World& world() { return mpi_session().world(); }

  [[nodiscard]] static comm::MpiOptions options() {
    comm::MpiOptions options;
    options.name = "test";
    options.timeout_s = kTimeoutSeconds;
    return options;
  }

  [[nodiscard]] static std::unique_ptr<comm::Collectives> make_collectives(
      const comm::MpiOptions& with = options()) {
    return mpi_session().make_collectives(with);
  }
};

}  // namespace lockstep::test
