# Golden values of ratings by people, from R alone.
# Rscript transforms/tests/statistics/golden/ratings.R > transforms/tests/statistics/golden/ratings.json
# Debian: r-base-core r-cran-jsonlite
suppressMessages(library(jsonlite))
data(sleep)  # ten subjects under two conditions: hours of sleep gained, Student (1908)

first <- sleep$extra[sleep$group == 1]; second <- sleep$extra[sleep$group == 2]
# Ten subjects on a scale of seven points: whole numbers with ties, made up.
scale <- c(2, 3, 3, 4, 1, 2, 5, 3, 2, 4)
described <- function(x) {
  t <- t.test(x); s <- shapiro.test(x)
  list(values = x, mean = mean(x), deviation = sd(x), lower = t$conf.int[1], upper = t$conf.int[2],
    w = unname(s$statistic), p = s$p.value)
}
h <- t.test(second, first, paired = TRUE)
w <- prop.test(7, 10, correct = FALSE)
out <- list(first = described(first), second = described(second), scale = described(scale),
  paired = list(mean = unname(h$estimate), lower = h$conf.int[1], upper = h$conf.int[2], p = h$p.value),
  yes = list(lower = w$conf.int[1], upper = w$conf.int[2]), version = R.version.string)
cat(toJSON(out, digits = NA, auto_unbox = TRUE, pretty = TRUE), "\n")
