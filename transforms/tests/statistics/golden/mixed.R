# Golden values of sojourn_statistics.mixed, from R's analysis of variance with an error stratum of blocks, and from
# lme4 with lmerTest (REML, Satterthwaite's degrees of freedom).
# Rscript transforms/tests/statistics/golden/mixed.R > transforms/tests/statistics/golden/mixed.json
# Debian: r-base-core r-cran-jsonlite r-cran-lmertest. The data are R's own: npk (Venables and Ripley, after Yates 1935),
# InsectSprays. Yields with less of their block means, and without some plots, have a small block variance or one of 0.
suppressMessages({library(jsonlite); library(lme4); library(lmerTest)})
data(npk); data(InsectSprays)

fit <- summary(aov(yield ~ N * P + Error(block), npk))
within <- fit[["Error: Within"]][[1]]
rownames(within) <- trimws(rownames(within))
blocks <- fit[["Error: block"]][[1]]
residual <- within["Residuals", "Mean Sq"]
row <- function(name) list(F = within[name, "F value"], p = within[name, "Pr(>F)"])
out <- list(npk = list(
  block = as.character(npk$block), N_level = as.character(npk$N), P_level = as.character(npk$P), yield = npk$yield,
  residual_mean_square = residual, residual_degrees = within["Residuals", "Df"],
  # Four plots of a block: the expected mean square of blocks is 4 times their variance plus that of plots.
  block_variance = (blocks["Residuals", "Mean Sq"] - residual) / 4,
  N = row("N"), P = row("P"), NxP = row("N:P")))

# Brown-Forsythe is the analysis of variance of the distances from each group's median.
distance <- with(InsectSprays, abs(count - ave(count, spray, FUN = median)))
tested <- summary(aov(distance ~ InsectSprays$spray))[[1]]
out$insect_sprays <- list(groups = unname(split(InsectSprays$count, InsectSprays$spray)),
  F = tested[1, "F value"], p = tested[1, "Pr(>F)"])

# Cells in lme4's order: N0 P0, N1 P0, N0 P1, N1 P1.
wanted <- list(cell = c(1, 0, 0, 0), difference_at_P0 = c(-1, 1, 0, 0), difference = c(-1, 1, -1, 1) / 2,
  interaction = c(1, -1, -1, 1))
of_lmer <- function(kept_of_blocks, left_out) {
  data <- npk
  data$value <- with(data, yield - (1 - kept_of_blocks) * (ave(yield, block) - mean(yield)))
  if (length(left_out)) data <- data[-left_out, ]
  fitted <- suppressMessages(lmer(value ~ 0 + N:P + (1 | block), data,
    control = lmerControl(optCtrl = list(ftol_abs = 1e-14, xtol_abs = 1e-12))))
  variances <- as.data.frame(VarCorr(fitted))$vcov
  found <- lapply(wanted, function(weights) {
    one <- contest1D(fitted, weights, confint = TRUE, level = 0.95)
    list(estimate = one[["Estimate"]], standard_error = one[["Std. Error"]], degrees = one[["df"]],
      lower = one[["lower"]], upper = one[["upper"]], p = one[["Pr(>|t|)"]])
  })
  list(block = as.character(data$block), N_level = as.character(data$N), P_level = as.character(data$P),
    value = data$value, is_singular = isSingular(fitted), block_variance = variances[1],
    residual_variance = variances[2], estimates = found)
}
out$lmer <- list(complete = of_lmer(1, c()), small = of_lmer(0.56, c()), zero = of_lmer(0.2, c()),
  unbalanced = of_lmer(1, c(2, 7, 18)), unbalanced_small = of_lmer(0.6, c(2, 7, 18)),
  unbalanced_zero = of_lmer(0.2, c(2, 7, 18)))
out$source <- list(R = R.version.string, lme4 = as.character(packageVersion("lme4")),
  lmerTest = as.character(packageVersion("lmerTest")))
cat(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = TRUE), "\n")
