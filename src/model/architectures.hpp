#pragma once

#include <memory>

#include "lockstep/model/models.hpp"

namespace lockstep::model {

// The factories behind the table in models.cpp. Options are checked; options.width is resolved.
// Weights come out as zeros, to be set by initialise().
std::shared_ptr<Network> make_simple_cnn(const ModelOptions& options, comm::Collectives& bn_comm);
std::shared_ptr<Network> make_cifar_cnn(const ModelOptions& options, comm::Collectives& bn_comm);
std::shared_ptr<Network> make_resnet18(const ModelOptions& options, comm::Collectives& bn_comm);

}  // namespace lockstep::model
