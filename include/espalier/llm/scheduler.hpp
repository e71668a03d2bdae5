#pragma once

#include <espalier/core/batch_service.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace espalier {

// Services are f(std::span<const In>) -> std::vector<Out>, equal lengths.
template <class F>
concept LanguageModel = detail::BatchFunction<F, Prompt, Completion>;
template <class F>
concept Retriever = detail::BatchFunction<F, Query, Passages>;
template <class F>
concept Encoder = detail::BatchFunction<F, EncodeRequest, Embedding>;

/// Handles to a language model, a retriever and an encoder.
using ModelPort = Port<Prompt, Completion>;
using RetrieverPort = Port<Query, Passages>;
using EncoderPort = Port<EncodeRequest, Embedding>;

/// A scheduler of searches that ask language models. Models come last, so that their batches are full.
struct Scheduler : PortScheduler {
  /// Adds a backend: a batch function (any callable) or a std::unique_ptr<Service>. `max_in_flight` is the number of
  /// outstanding requests of an asynchronous backend, or the largest batch of a synchronous one.
  ModelPort model(auto backend, std::size_t max_in_flight = 64) {
    return last_port<Prompt, Completion>(std::move(backend), max_in_flight);
  }
  RetrieverPort retriever(auto backend, std::size_t max_in_flight = unlimited) {
    return port<Query, Passages>(std::move(backend), max_in_flight);
  }
  EncoderPort encoder(auto backend, std::size_t max_in_flight = unlimited) {
    return port<EncodeRequest, Embedding>(std::move(backend), max_in_flight);
  }
  /// A model that is answered from outside: list requests with pending(), answer them with resume().
  template <class = void>
  ModelPort external_model() {
    return last_port<Prompt, Completion>(std::unique_ptr<Service<Prompt, Completion>>(), 0);
  }
};

}  // namespace espalier
