# Golden values of sojourn_statistics.mixed, from R's analysis of variance with an error stratum of blocks.
# Rscript transforms/tests/statistics/golden/mixed.R > transforms/tests/statistics/golden/mixed.json
# Debian: r-base-core r-cran-jsonlite. The data are R's own: npk (Venables and Ripley, after Yates 1935), InsectSprays.
suppressMessages(library(jsonlite))
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
out$source <- list(R = R.version.string)
cat(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = TRUE), "\n")
