package dev.slicewright.cost;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.Locale;

/**
 * How many cubes or hosts to hold back so that slices of a size find room often enough, and what
 * share of the chips does work. Immutable, safe to share.
 *
 * <p><b>Model.</b> Every host is up with the same probability, whatever the others do. A
 * <em>unit</em> is what is swapped as a whole: a cube of 16 hosts on optical pods, or one host; it
 * is up if all its hosts are. With optical switching a slice of n units runs if any n of the n + s
 * units kept for it are up: the upper tail of a binomial. Without, it has its n units or none:
 * probability u^n for units that are up with probability u.
 *
 * <p>Goodput is the expected share of a pod's units that work in slices of n units. With switching
 * it is E[floor(min(X, N) / n)] × n / N, X the units that are up of N: slices are formed anew from
 * what is up, and what is left over idles. Without, the pod is cut into floor(N / n) fixed slices,
 * each of which works if all of it is up. {@link #plannedGoodput} is the figure for one who
 * promises slices ahead: the most whole slices that can run side by side in at least a given share
 * of the time.
 *
 * <p>The question is that of N. P. Jouppi and others, "TPU v4: An Optically Reconfigurable
 * Supercomputer", ISCA 2023, arXiv:2304.01433, which plots goodput against slice size for hosts
 * that are up 99 %, 99.5 % and 99.9 % of the time, with and without optical switches; no figure of
 * it is taken over here.
 *
 * <p><b>Limits.</b> Failures that hosts share (power, a switch, a rack, a software roll-out) make
 * long outages likelier than this says. Links and switches count as never failing; the time to swap
 * a cube and to restart from a checkpoint, and cool-downs, count as none: put those into the host
 * availability, which is the share of time in which a host can be used. Geometry is left out:
 * without switching, hosts of a box are not interchangeable.
 *
 * <p>Binomial terms are summed from the smaller tail in floating point, scaled by the largest, so
 * that nothing underflows or cancels: relative error below 1e-9 up to {@value #MAX_UNITS} units.
 */
public final class Availability {

  /** The most units of one question: 1,000,000. */
  public static final int MAX_UNITS = 1_000_000;

  /** Hosts of a cube: 16. */
  public static final int HOSTS_PER_CUBE = 16;

  private final double host;
  private final int hostsPerUnit;

  private Availability(double host, int hostsPerUnit) {
    this.host = host;
    this.hostsPerUnit = hostsPerUnit;
  }

  /**
   * Cubes of 16 hosts.
   *
   * @param hostAvailability the share of time in which a host can be used, 0 to 1
   * @return the model
   * @throws InvalidInputException if it is not from 0 to 1
   */
  public static Availability ofCubes(double hostAvailability) {
    return of(hostAvailability, HOSTS_PER_CUBE);
  }

  /**
   * Single hosts.
   *
   * @param hostAvailability the share of time in which a host can be used, 0 to 1
   * @return the model
   * @throws InvalidInputException if it is not from 0 to 1
   */
  public static Availability ofHosts(double hostAvailability) {
    return of(hostAvailability, 1);
  }

  /**
   * Units of so many hosts.
   *
   * @param hostAvailability the share of time in which a host can be used, 0 to 1
   * @param hostsPerUnit hosts that are swapped together, 1 to {@value #MAX_UNITS}
   * @return the model
   * @throws InvalidInputException listing what is out of range
   */
  public static Availability of(double hostAvailability, int hostsPerUnit) {
    Problems problems = new Problems();
    share(problems, "hostAvailability", hostAvailability);
    count(problems, "hostsPerUnit", hostsPerUnit, 1);
    problems.throwIfAny("availability");
    return new Availability(hostAvailability, hostsPerUnit);
  }

  private static void share(Problems problems, String path, double value) {
    if (!(value >= 0 && value <= 1)) { // NaN too
      problems.add(path, "expected a share from 0 to 1, such as 0.999, but was " + value);
    }
  }

  private static void count(Problems problems, String path, long value, long least) {
    if (value < least || value > MAX_UNITS) {
      problems.add(
          path,
          String.format(Locale.ROOT, "expected %d to %d, but was %d", least, MAX_UNITS, value));
    }
  }

  /**
   * The share of time in which a unit is up.
   *
   * @return 0 to 1
   */
  public double unit() {
    return Math.pow(host, hostsPerUnit);
  }

  /** The probability that a unit is down, exact where it is tiny. */
  private double unitDown() {
    return -Math.expm1(hostsPerUnit * Math.log(host));
  }

  /**
   * The probability that a slice can run on some of the units kept for it.
   *
   * @param units units of the slice, 1 or more
   * @param spares units held back beside them, 0 or more
   * @return 0 to 1. O(spares)
   * @throws InvalidInputException listing what is out of range
   */
  public double withSwitching(int units, int spares) {
    Problems problems = new Problems();
    count(problems, "units", units, 1);
    count(problems, "spares", spares, 0);
    count(problems, "units + spares", (long) units + spares, 1);
    problems.throwIfAny("slice");
    return atMostDown(units + spares, spares);
  }

  /**
   * The probability that a slice can run where it is, without switching: every unit of it is up.
   *
   * @param units units of the slice, 1 or more
   * @return 0 to 1
   * @throws InvalidInputException if it is out of range
   */
  public double withoutSwitching(int units) {
    return withSwitching(units, 0);
  }

  /**
   * The fewest units to hold back so that a slice can run with a probability.
   *
   * @param units units of the slice, 1 or more
   * @param target the probability, 0 to below 1; 1 only where hosts never fail
   * @return 0 or more. O(spares × log spares)
   * @throws InvalidInputException listing what is out of range; also where {@value #MAX_UNITS}
   *     units do not suffice
   */
  public int spares(int units, double target) {
    Problems problems = new Problems();
    count(problems, "units", units, 1);
    share(problems, "target", target);
    if (target == 1 && unitDown() > 0) {
      problems.add("target", "expected less than 1, since hosts fail, but was 1; aim lower");
    }
    problems.throwIfAny("slice");
    int most = MAX_UNITS - units;
    int high = 0;
    while (withSwitching(units, high) < target) {
      if (high == most) {
        throw new InvalidInputException(
            "slice",
            "target",
            "expected a target that "
                + MAX_UNITS
                + " units can reach, but was "
                + target
                + " with units that are up "
                + unit()
                + " of the time; aim lower");
      }
      high = (int) Math.min(most, Math.max(1, 2L * high));
    }
    int low = high / 2; // the last that did not suffice, or 0
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (withSwitching(units, middle) >= target) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return high;
  }

  /**
   * The expected share of a pod that works in slices of a size, with switching.
   *
   * @param units units of a slice, 1 or more
   * @param pod units of the pod, 1 or more
   * @return 0 to 1; 0 if a slice is larger than the pod. O(pod)
   * @throws InvalidInputException listing what is out of range
   */
  public double goodputWithSwitching(int units, int pod) {
    checkPod(units, pod);
    double[] up = distribution(pod);
    double sum = 0;
    for (int x = up.length - 1; x >= units; x--) {
      sum += up[x] * (x / units);
    }
    return Math.min(1, sum * units / pod);
  }

  /**
   * The expected share of a pod that works in slices of a size, without switching.
   *
   * @param units units of a slice, 1 or more
   * @param pod units of the pod, 1 or more
   * @return 0 to 1; 0 if a slice is larger than the pod
   * @throws InvalidInputException listing what is out of range
   */
  public double goodputWithoutSwitching(int units, int pod) {
    checkPod(units, pod);
    return (double) (pod / units) * units / pod * withoutSwitching(units);
  }

  /**
   * The share of a pod that may be promised to slices of a size, with switching: of the most slices
   * that all run side by side with at least a probability.
   *
   * @param units units of a slice, 1 or more
   * @param pod units of the pod, 1 or more
   * @param target the probability, 0 to 1
   * @return 0 to 1. O(pod)
   * @throws InvalidInputException listing what is out of range
   */
  public double plannedGoodput(int units, int pod, double target) {
    Problems problems = new Problems();
    share(problems, "target", target);
    problems.throwIfAny("goodput");
    checkPod(units, pod);
    int slices = pod / units;
    while (slices > 0 && atMostDown(pod, pod - slices * units) < target) {
      slices--;
    }
    return (double) slices * units / pod;
  }

  private static void checkPod(int units, int pod) {
    Problems problems = new Problems();
    count(problems, "units", units, 1);
    count(problems, "pod", pod, 1);
    problems.throwIfAny("goodput");
  }

  // ---------------------------------------------------------------- the binomial

  /** The probability that of n units at most k are down. */
  private double atMostDown(int n, int k) {
    double up = unit();
    double down = unitDown();
    if (k >= n || down == 0) {
      return 1;
    }
    if (up == 0) {
      return 0;
    }
    // The tail that does not hold the mean is small: it is summed, the other is what is missing.
    return k < n * down ? tail(n, down, up, k) : Math.max(0, 1 - tail(n, up, down, n - k - 1));
  }

  /**
   * The probability of at most k of n, each with probability p, for k below the mean: from the
   * largest term down, each term from the one before.
   */
  private static double tail(int n, double p, double q, int k) {
    double ratio = q / p;
    double sum = 1;
    double term = 1;
    for (int i = k; i > 0; i--) {
      term *= i / (double) (n - i + 1) * ratio;
      sum += term;
      if (term < sum * 1e-18) {
        break;
      }
    }
    return Math.min(1, Math.exp(logTerm(n, k, p, q) + Math.log(sum)));
  }

  /** The logarithm of the probability of exactly k of n. */
  private static double logTerm(int n, int k, double p, double q) {
    // Loader's saddle point: C. Loader, "Fast and Accurate Computation of Binomial Probabilities",
    // 2000. Differences of log-factorials would lose digits for large n.
    if (k == 0) {
      return n * Math.log1p(-p);
    }
    if (k == n) {
      return n * Math.log(p);
    }
    double c =
        stirling(n) - stirling(k) - stirling(n - k) - deviance(k, n * p) - deviance(n - k, n * q);
    return c + 0.5 * Math.log(n / (2 * Math.PI * k * (double) (n - k)));
  }

  /** log(n!) less Stirling's formula. */
  private static double stirling(double n) {
    if (n < 16) {
      double log = 0;
      for (int i = 2; i <= (int) n; i++) {
        log += Math.log(i);
      }
      return log - (0.5 * Math.log(2 * Math.PI * n) + n * Math.log(n) - n);
    }
    double square = n * n;
    return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0 - 1 / 1680.0 / square) / square) / square) / n;
  }

  /** x log(x / m) + m - x, without cancelling where x is near m. */
  private static double deviance(double x, double m) {
    double v = (x - m) / (x + m);
    if (Math.abs(v) >= 0.1) {
      return x * Math.log(x / m) + m - x;
    }
    double sum = (x - m) * v;
    double power = 2 * x * v;
    for (int j = 1; j < 1_000; j++) {
      power *= v * v;
      double next = sum + power / (2 * j + 1);
      if (next == sum) {
        break;
      }
      sum = next;
    }
    return sum;
  }

  /** The probabilities of 0 to n units up. */
  private double[] distribution(int n) {
    double up = unit();
    double down = unitDown();
    double[] out = new double[n + 1];
    if (up == 0 || down == 0) {
      out[up == 0 ? 0 : n] = 1;
      return out;
    }
    int mode = (int) Math.min(n, Math.floor((n + 1L) * up));
    out[mode] = Math.exp(logTerm(n, mode, up, down));
    for (int x = mode; x < n; x++) {
      out[x + 1] = out[x] * ((n - x) / (x + 1.0)) * (up / down);
    }
    for (int x = mode; x > 0; x--) {
      out[x - 1] = out[x] * (x / (n - x + 1.0)) * (down / up);
    }
    return out;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Availability that
        && host == that.host
        && hostsPerUnit == that.hostsPerUnit;
  }

  @Override
  public int hashCode() {
    return Double.hashCode(host) * 31 + hostsPerUnit;
  }

  @Override
  public String toString() {
    return "hosts up " + host + " of the time, " + hostsPerUnit + " a unit";
  }
}
