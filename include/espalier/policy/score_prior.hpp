#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/score.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

namespace espalier {

/// How scores of siblings become priors, for environments that score the actions they propose (PriorSource::scored).
struct ScorePrior {
  double alpha = 1;  ///< exponent of length: 1 = log-probability per token, 0 = of the whole action
  double tau = 1;    ///< temperature of the softmax, > 0

  void check() const {
    if (!(alpha >= 0 && alpha <= 1)) bad_option("alpha", alpha, "0 to 1");
    if (!(tau > 0) || std::isinf(tau)) bad_option("tau", tau, "above 0");
  }
  /// softmax of logprob / tokens^alpha / tau over the siblings. The results add up to 1.
  [[nodiscard]] std::vector<float> operator()(std::span<const Score> siblings) const {
    check();
    std::vector<double> grades;
    for (const Score& s : siblings) grades.push_back(s.logprob / std::pow(static_cast<double>(s.tokens), alpha) / tau);
    double best = -HUGE_VAL, sum = 0;
    for (const double grade : grades) best = std::max(best, grade);
    for (double& grade : grades) sum += grade = std::exp(grade - best);
    std::vector<float> priors;
    for (const double grade : grades) priors.push_back(static_cast<float>(grade / sum));
    return priors;
  }
};

}  // namespace espalier
