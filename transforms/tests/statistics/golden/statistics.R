# Golden values of sojourn_statistics, from R and its packages diptest, mclust, sandwich.
# Rscript transforms/tests/statistics/golden/statistics.R > transforms/tests/statistics/golden/statistics.json
# Debian: r-base-core r-cran-diptest r-cran-mclust r-cran-sandwich r-cran-jsonlite
suppressMessages({library(jsonlite); library(diptest); library(mclust); library(sandwich)})

# R's built-in data, so that the input has a source of its own.
data(sleep); data(airquality); data(faithful); data(PlantGrowth); data(ToothGrowth)
x <- c(0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)   # Hollander & Wolfe (1973), 69f: tritiated water
y <- c(1.15, 0.88, 0.90, 0.74, 1.21)
before <- c(1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30)    # Hollander & Wolfe (1973), 29f: depression scores
after <- c(0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29)
pain_y <- c(1,2,1,1,1,1,1,1,1,1,2,4,1,1)                             # Brunner & Munzel (2000), shoulder pain
pain_n <- c(3,3,4,3,1,2,3,1,1,5,4)
statfaculty <- c(30,33,35,36,37,37,39,39,39,39,39,40,40,40,40,41,42,43,43,43,44,44,45,45,46,47,47,48,48,48,49,50,50,51,
  52,52,53,53,53,53,53,54,54,57,57,59,60,60,60,61,61,61,61,62,62,62,62,63,66,70,72,72)
ozone <- airquality[!is.na(airquality$Ozone), ]

ci <- function(h) list(estimate = unname(h$estimate), lower = h$conf.int[1], upper = h$conf.int[2], p = h$p.value)
out <- list()
out$input <- list(x = x, y = y, before = before, after = after, pain_y = pain_y, pain_n = pain_n,
  statfaculty = statfaculty, eruptions = faithful$eruptions, waiting = faithful$waiting,
  ozone = ozone$Ozone, wind = ozone$Wind, month = ozone$Month,
  plant = PlantGrowth$weight, plant_group = as.character(PlantGrowth$group))

out$mean_t <- ci(t.test(x))
# Order statistics: largest l with P(B < l) <= 0.025 and smallest u with P(B >= u) <= 0.025, by search.
ranks <- function(n, q, alpha = 0.05) {
  l <- max(c(0, which(pbinom(0:(n-1), n, q) <= alpha/2))); u <- min(c(n+1, which(1 - pbinom(0:(n-1), n, q) <= alpha/2) ))
  c(l, u, pbinom(u-1, n, q) - pbinom(l-1, n, q))
}
out$quantile_ranks <- lapply(list(c(10,.5), c(272,.5), c(272,.9), c(100,.95), c(30,.25)), function(a) c(a, ranks(a[1], a[2])))
out$wilson <- lapply(list(c(0,10), c(3,10), c(50,100), c(1,1), c(29,30)), function(a) {
  h <- prop.test(a[1], a[2], correct = FALSE); c(a, h$conf.int) })
out$rate_ratio <- lapply(list(c(11, 6, 800, 1083), c(5, 10, 3, 7), c(0, 10, 4, 10)), function(a) {
  h <- poisson.test(a[c(1,3)], a[c(2,4)]); c(a, unname(h$estimate), h$conf.int) })
out$pearson <- ci(cor.test(faithful$eruptions, faithful$waiting))
out$spearman <- unname(suppressWarnings(cor.test(ozone$Ozone, ozone$Wind, method = "spearman"))$estimate)
set.seed(1); n <- nrow(ozone)
reps <- replicate(40000, {i <- sample(n, n, TRUE); cor(ozone$Ozone[i], ozone$Wind[i], method = "spearman")})
tail <- pnorm(-sqrt(n/(n-1)) * qt(.975, n-1))
out$spearman_bootstrap <- unname(quantile(reps, c(tail, 1 - tail)))

fit <- lm(Ozone ~ 1, data = ozone); se <- sqrt(vcovCL(fit, cluster = ozone$Month, type = "HC1")[1, 1])
g <- length(unique(ozone$Month))
out$cluster_mean <- list(estimate = unname(coef(fit)), lower = unname(coef(fit)) - qt(.975, g-1)*se, upper = unname(coef(fit)) + qt(.975, g-1)*se)
groups <- split(faithful$eruptions, rep(1:16, each = 17)); set.seed(2)
tail <- pnorm(-sqrt(16/15) * qt(.975, 15))
reps <- replicate(40000, {s <- unlist(groups[sample(16, 16, TRUE)]); c(mean(s), sort(s)[ceiling(length(s)/2)])})
out$cluster_bootstrap <- list(mean = unname(quantile(reps[1,], c(tail, 1-tail))), median = unname(quantile(reps[2,], c(tail, 1-tail))))

out$hodges_lehmann <- ci(wilcox.test(x, y, conf.int = TRUE, exact = TRUE))
out$mann_whitney <- unname(c(wilcox.test(x, y)$statistic, wilcox.test(x, y)$p.value))
h <- suppressWarnings(wilcox.test(pain_y, pain_n)); out$mann_whitney_ties <- unname(c(h$statistic, h$p.value))
out$pwilcox <- list(m = 7, n = 9, cdf = pwilcox(0:63, 7, 9))
out$psignrank <- list(n = 12, cdf = psignrank(0:78, 12))
out$paired <- c(ci(wilcox.test(before, after, paired = TRUE, conf.int = TRUE)), list(statistic = unname(wilcox.test(before, after, paired = TRUE)$statistic)))
s1 <- sleep$extra[sleep$group == 2]; s2 <- sleep$extra[sleep$group == 1]
h <- suppressWarnings(wilcox.test(s1, s2, paired = TRUE)); out$paired_ties <- list(x = s1, y = s2, statistic = unname(h$statistic), p = h$p.value)
h <- ks.test(x, y); out$ks <- unname(c(h$statistic, h$p.value))

# Brunner-Munzel as defined in the paper, from placements; the paper gives 3.1375, 17.683 degrees, p = 0.0058.
brunner <- function(a, b) {
  na <- length(a); nb <- length(b); r <- rank(c(a, b)); ra <- r[1:na]; rb <- r[-(1:na)]
  va <- sum((ra - rank(a) - mean(ra) + (na+1)/2)^2)/(na-1); vb <- sum((rb - rank(b) - mean(rb) + (nb+1)/2)^2)/(nb-1)
  w <- na*nb*(mean(rb)-mean(ra))/((na+nb)*sqrt(na*va + nb*vb)); df <- (na*va+nb*vb)^2/((na*va)^2/(na-1)+(nb*vb)^2/(nb-1))
  c(w, df, 2*pt(-abs(w), df)) }
out$brunner_munzel <- brunner(pain_y, pain_n)

# Cliff's delta with the interval of Feng & Cliff (2004), written out with loops over pairs.
cliff <- function(a, b, level = .95) {
  m <- length(a); n <- length(b); d <- matrix(0, m, n); for (i in 1:m) for (j in 1:n) d[i,j] <- sign(a[i]-b[j])
  dd <- mean(d); si <- sum((rowMeans(d)-dd)^2); sj <- sum((colMeans(d)-dd)^2); sij <- sum((d-dd)^2)
  v <- max((m^2*si + n^2*sj - sij)/(m*n*(m-1)*(n-1)), (1-dd^2)/(m*n-1)); z <- qt(1-(1-level)/2, m+n-2)
  h <- z*sqrt(v)*sqrt((1-dd^2)^2 + z^2*v); c(dd, (dd-dd^3-h)/(1-dd^2+z^2*v), (dd-dd^3+h)/(1-dd^2+z^2*v)) }
out$cliff <- cliff(x, y); out$cliff_ties <- cliff(pain_y, pain_n)

# Difference of medians: a plain bootstrap, to be met by the exact one.
set.seed(3); e1 <- faithful$eruptions[1:60]; e2 <- faithful$eruptions[61:140]
reps <- replicate(60000, sort(sample(e1, 60, TRUE))[30] - sort(sample(e2, 80, TRUE))[40])
out$quantile_difference <- unname(quantile(reps, c(.025, .975), type = 1))
reps <- replicate(60000, sort(sample(e1, 60, TRUE))[15] - sort(sample(e2, 80, TRUE))[20])
out$quantile_difference_25 <- unname(quantile(reps, c(.025, .975), type = 1))

h <- kruskal.test(weight ~ group, data = PlantGrowth); out$kruskal <- unname(c(h$statistic, h$p.value))
h <- kruskal.test(airquality$Ozone, airquality$Month); out$kruskal_ties <- unname(c(h$statistic, h$p.value))
dunn <- function(v, g) {
  r <- rank(v); N <- length(v); t <- table(v); s2 <- N*(N+1)/12 - sum(t^3-t)/(12*(N-1)); k <- sort(unique(g)); o <- list()
  for (i in 1:(length(k)-1)) for (j in (i+1):length(k)) {
    z <- (mean(r[g==k[i]]) - mean(r[g==k[j]]))/sqrt(s2*(1/sum(g==k[i])+1/sum(g==k[j]))); o[[length(o)+1]] <- list(k[i], k[j], z, 2*pnorm(-abs(z))) }
  p <- p.adjust(sapply(o, function(a) a[[4]]), "holm"); lapply(seq_along(o), function(i) c(o[[i]], p[i])) }
out$dunn <- dunn(PlantGrowth$weight, as.character(PlantGrowth$group))
p <- c(0.01, 0.02, 0.03, 0.005, 0.5, 0.04, 0.001)
out$adjust <- list(p = p, holm = p.adjust(p, "holm"), benjamini_hochberg = p.adjust(p, "BH"))

tost <- function(a, b, m) max(t.test(a, b, mu = -m, alternative = "greater")$p.value, t.test(a, b, mu = m, alternative = "less")$p.value)
tostr <- function(a, b, m) max(wilcox.test(a, b, mu = -m, alternative = "greater")$p.value, wilcox.test(a, b, mu = m, alternative = "less")$p.value)
out$equivalence <- list(margin = c(0.5, 1, 2.05), means = sapply(c(0.5, 1, 2.05), function(m) tost(x, y, m)), shift = sapply(c(0.501, 1.003, 2.055), function(m) tostr(x, y, m)))

h <- shapiro.test(faithful$eruptions); out$shapiro <- unname(c(h$statistic, h$p.value))
h <- dip.test(statfaculty); out$dip_statfaculty <- unname(c(h$statistic, h$p.value))
h <- dip.test(faithful$eruptions); out$dip_eruptions <- unname(c(h$statistic, h$p.value))
h <- dip.test(x); out$dip_x <- unname(c(h$statistic, h$p.value))
fit <- Mclust(faithful$eruptions, G = 2, modelNames = "V", verbose = FALSE, control = emControl(tol = c(1e-12, 1e-12), itmax = c(100000, 100000)))
one <- Mclust(faithful$eruptions, G = 1, verbose = FALSE)
out$mixture <- list(weights = unname(fit$parameters$pro), means = unname(fit$parameters$mean), sd = unname(sqrt(fit$parameters$variance$sigmasq)),
  loglik = fit$loglik, bic_two = -fit$bic, bic_one = -one$bic)
out$version <- R.version.string
cat(toJSON(out, digits = 12, auto_unbox = TRUE, pretty = FALSE), "\n")
