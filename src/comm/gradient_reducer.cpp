#include "lockstep/comm/gradient_reducer.hpp"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <chrono>
#include <cmath>
#include <unordered_set>

#include "gradient_layout.hpp"

namespace lockstep::comm {
namespace {

struct Bucket {
  at::Tensor flat;
  std::vector<std::size_t> members;  // indices of parameters, in the order they lie in `flat`
  std::size_t missing = 0;           // gradients that have not come since arm()
  std::unique_ptr<Work> work;
  bool done = false;
};

struct Parameter {
  std::string name;
  at::Tensor tensor;
  std::size_t bucket = 0;
  std::int64_t offset = 0;
  bool arrived = false;
};

DataType type_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? DataType::kFloat64 : DataType::kFloat32;
}

}  // namespace

struct GradientReducer::State {
  Collectives* collectives = nullptr;
  std::vector<Parameter> parameters;
  std::vector<Bucket> buckets;
  bool armed = false;
  std::size_t next = 0;  // the bucket whose turn it is
  double exposed_seconds = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // An exception can end an update while the transport still owns buckets. Their memory then stays
  // with the process, which is about to be aborted.
  ~State() {
    for (Bucket& bucket : buckets) {
      if (bucket.work && !bucket.done) static_cast<void>(bucket.flat.unsafeReleaseTensorImpl());
    }
  }

  void add_parameters(std::vector<NamedParameter>&& named);
  void build_buckets(const BucketOptions& options);
  void require_view(const Parameter& parameter) const;
  void arrive(std::size_t index);
  void start_bucket();
  void poll();
  [[nodiscard]] std::string label(std::size_t bucket) const;
};

namespace {

/// Runs after autograd has added a gradient into .grad(). Holds the state weakly: the parameter
/// owns its hook and the state owns the parameter.
template <typename State>
class ArrivalHook final : public torch::autograd::PostAccumulateGradHook {
 public:
  ArrivalHook(std::weak_ptr<State> state, std::size_t index)
      : state_(std::move(state)), index_(index) {}

  void operator()(const torch::autograd::Variable& /*parameter*/) override {
    const std::shared_ptr<State> state = state_.lock();
    if (state && state->armed) state->arrive(index_);
  }

 private:
  std::weak_ptr<State> state_;
  std::size_t index_;
};

}  // namespace

void GradientReducer::State::add_parameters(std::vector<NamedParameter>&& named) {
  std::unordered_set<const void*> seen;
  for (auto& [name, tensor] : named) {
    if (!tensor.defined() || !tensor.requires_grad()) continue;
    const std::string problem = "gradients of parameter '" + name + "' cannot be reduced";
    require(tensor.is_leaf(), problem, "it is the result of a computation",
            "pass the parameters of the network themselves");
    require(seen.insert(tensor.unsafeGetTensorImpl()).second, problem, "it was given twice",
            "list a shared parameter once");
    require(tensor.scalar_type() == at::kFloat || tensor.scalar_type() == at::kDouble, problem,
            "only float32 and float64 are supported", "convert the network before training");
    require(tensor.is_non_overlapping_and_dense(), problem,
            "its elements do not fill one block of memory", "make the parameter contiguous");
    const at::Tensor& first = parameters.empty() ? tensor : parameters.front().tensor;
    require(first.scalar_type() == tensor.scalar_type() && first.device() == tensor.device(),
            problem,
            "its type or device differs from that of '" +
                (parameters.empty() ? name : parameters.front().name) + "'",
            "keep all parameters of a network in one type on one device");
    parameters.push_back(Parameter{std::move(name), std::move(tensor)});
  }
}

void GradientReducer::State::build_buckets(const BucketOptions& options) {
  std::vector<std::size_t> bytes;
  bytes.reserve(parameters.size());
  for (const Parameter& parameter : parameters) bytes.push_back(parameter.tensor.nbytes());
  for (auto& members : bucket_layout(bytes, options.first_bucket_bytes, options.bucket_bytes)) {
    std::int64_t elements = 0;
    for (const std::size_t index : members) {
      parameters[index].bucket = buckets.size();
      parameters[index].offset = elements;
      elements += parameters[index].tensor.numel();
    }
    Bucket bucket;
    bucket.flat = at::zeros({elements}, parameters[members.front()].tensor.options());
    bucket.members = std::move(members);
    buckets.push_back(std::move(bucket));
  }
  for (const Parameter& parameter : parameters) {
    const at::Tensor& tensor = parameter.tensor;
    tensor.mutable_grad() = buckets[parameter.bucket].flat.as_strided(
        tensor.sizes(), tensor.strides(), parameter.offset);
  }
}

void GradientReducer::State::require_view(const Parameter& parameter) const {
  if (is_view_of(parameter.tensor.grad(), parameter.tensor, buckets[parameter.bucket].flat,
                 parameter.offset)) {
    return;
  }
  throw Error("the gradient of '" + parameter.name + "' left its bucket",
              "something replaced or dropped it, and its sum over ranks would be wrong",
              "clear gradients with GradientReducer::zero, never with zero_grad, and do not assign "
              "them");
}

std::string GradientReducer::State::label(std::size_t bucket) const {
  const std::vector<std::size_t>& members = buckets[bucket].members;
  return "gradient bucket " + std::to_string(bucket) + " of " + std::to_string(buckets.size()) +
         " ('" + parameters[members.front()].name + "' to '" + parameters[members.back()].name +
         "')";
}

void GradientReducer::State::arrive(std::size_t index) {
  Parameter& parameter = parameters[index];
  require_view(parameter);
  require(!parameter.arrived, "the gradient of '" + parameter.name + "' came twice after arm()",
          "its bucket may be on its way already", "arm before the last backward pass only");
  parameter.arrived = true;
  --buckets[parameter.bucket].missing;
  while (next < buckets.size() && buckets[next].missing == 0) start_bucket();
  poll();
}

void GradientReducer::State::start_bucket() {
  Bucket& bucket = buckets[next];
  try {
    bucket.work = collectives->start_all_reduce(bucket.flat.data_ptr(),
                                                static_cast<std::size_t>(bucket.flat.numel()),
                                                type_of(bucket.flat), ReduceOp::kSum);
  } catch (const Error& error) {
    throw Error(label(next) + " could not be sent", error.what(),
                "see the messages of the other ranks", error.code());
  }
  ++next;
}

// MPI without a progress thread moves only while it is called.
void GradientReducer::State::poll() {
  for (std::size_t k = 0; k < next; ++k) {
    if (!buckets[k].done) buckets[k].done = buckets[k].work->poll();
  }
}

GradientReducer::GradientReducer(std::vector<NamedParameter> parameters, Collectives& collectives,
                                 const BucketOptions& options)
    : state_(std::make_shared<State>()) {
  state_->collectives = &collectives;
  state_->add_parameters(std::move(parameters));
  state_->build_buckets(options);
  for (std::size_t i = 0; i < state_->parameters.size(); ++i) {
    torch::autograd::impl::set_post_acc_grad_hooks(state_->parameters[i].tensor,
                                                   std::make_unique<ArrivalHook<State>>(state_, i));
  }
}

GradientReducer::~GradientReducer() = default;

void GradientReducer::zero() {
  require(!state_->armed, "gradients were cleared while they are being reduced",
          "arm() came without finish()", "call finish() after the last backward pass");
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : state_->parameters) state_->require_view(parameter);
  for (Bucket& bucket : state_->buckets) bucket.flat.zero_();
}

void GradientReducer::arm() {
  require(!state_->armed, "gradient reduction was armed twice", "finish() did not come between",
          "call arm() once per update, before the last backward pass");
  for (Parameter& parameter : state_->parameters) parameter.arrived = false;
  for (Bucket& bucket : state_->buckets) {
    bucket.missing = bucket.members.size();
    bucket.done = false;
  }
  state_->next = 0;
  state_->armed = true;
}

void GradientReducer::finish() {
  require(state_->armed, "gradient reduction was finished before it was armed",
          "no gradient of this update was summed over the ranks",
          "call arm() before the last backward pass");
  for (const Parameter& parameter : state_->parameters) state_->require_view(parameter);
  const auto start = std::chrono::steady_clock::now();
  while (state_->next < state_->buckets.size()) state_->start_bucket();
  for (std::size_t k = 0; k < state_->buckets.size(); ++k) {
    Bucket& bucket = state_->buckets[k];
    try {
      bucket.work->wait();
    } catch (const Error& error) {
      throw Error(state_->label(k) + " was not reduced", error.what(),
                  "see the messages of the other ranks", error.code());
    }
    bucket.done = true;
    bucket.work.reset();
  }
  state_->armed = false;
  state_->exposed_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double GradientReducer::norm() const {
  double sum = 0;
  for (const Bucket& bucket : state_->buckets) sum += sum_of_squares(bucket.flat);
  return std::sqrt(sum);
}

void GradientReducer::scale(double factor) {
  const at::NoGradGuard no_grad;
  for (Bucket& bucket : state_->buckets) bucket.flat.mul_(factor);
}

std::size_t GradientReducer::bucket_count() const noexcept { return state_->buckets.size(); }

std::int64_t GradientReducer::bucket_elements(std::size_t index) const {
  require(index < state_->buckets.size(), "there is no gradient bucket " + std::to_string(index),
          "there are " + std::to_string(state_->buckets.size()), "ask bucket_count() first");
  return state_->buckets[index].flat.numel();
}

double GradientReducer::exposed_seconds() const noexcept { return state_->exposed_seconds; }

}  // namespace lockstep::comm
