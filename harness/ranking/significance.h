#pragma once

#include <span>
#include <vector>

namespace assay {

/// P(T > t) for Student's t with `dof` degrees of freedom; 0.5 at t = 0. Precondition: dof > 0; an
/// infinite dof is the normal distribution.
double t_tail(double t, double dof);

/// t with P(T > t) = 2.5 %: half the width of a 95 % interval, in standard errors.
double t_of_95_percent(double dof);

/// Benjamini and Hochberg's adjusted p-values, each in its p-value's place. Calling a difference
/// where the adjusted value is at most q keeps the expected share of false calls at q or less.
///
/// It is chosen over Holm's because a suite seldom has one change: what slows one problem slows its
/// neighbours, and Holm's correction loses the smallest of them. If nothing has changed, every call
/// is false, and the share is the chance of any false call: so a clean suite raises an alarm with
/// chance q at most, as Holm's would have it. It holds under positive dependence (Benjamini and
/// Yekutieli 2001), which is what a warm machine or a busy neighbour makes of a suite.
std::vector<double> adjusted_p(std::span<const double> p);

}  // namespace assay
