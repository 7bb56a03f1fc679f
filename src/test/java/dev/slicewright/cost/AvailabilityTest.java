package dev.slicewright.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.within;

import dev.slicewright.InvalidInputException;
import java.math.BigDecimal;
import java.math.MathContext;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Scale;
import org.assertj.core.data.Percentage;
import org.junit.jupiter.api.Test;

class AvailabilityTest {

  private static final MathContext EXACT = new MathContext(60);

  /** The probability of at least so many of n, term by term with 60 digits. */
  private static BigDecimal atLeast(int n, int least, BigDecimal p) {
    BigDecimal q = BigDecimal.ONE.subtract(p);
    BigDecimal sum = BigDecimal.ZERO;
    BigDecimal choose = BigDecimal.ONE;
    for (int k = 0; k <= n; k++) {
      if (k >= least) {
        sum = sum.add(choose.multiply(p.pow(k, EXACT), EXACT).multiply(q.pow(n - k, EXACT), EXACT));
      }
      choose =
          choose
              .multiply(BigDecimal.valueOf(n - k), EXACT)
              .divide(BigDecimal.valueOf(k + 1), EXACT);
    }
    return sum;
  }

  @Property(tries = 300)
  void tailsAreThoseOfExactSums(
      @ForAll @Scale(6) @DoubleRange(min = 0.001, max = 0.9999) double host,
      @ForAll @IntRange(min = 1, max = 120) int units,
      @ForAll @IntRange(min = 0, max = 40) int spares) {
    BigDecimal exact = atLeast(units + spares, units, new BigDecimal(host));
    assertThat(Availability.ofHosts(host).withSwitching(units, spares))
        .isCloseTo(exact.doubleValue(), Percentage.withPercentage(1e-7));
  }

  /** Every state of up to 12 units of 2 hosts. */
  @Property(tries = 60)
  void goodputIsThatOfAllStates(
      @ForAll @Scale(6) @DoubleRange(min = 0, max = 1) double host,
      @ForAll @IntRange(min = 1, max = 12) int pod,
      @ForAll @IntRange(min = 1, max = 13) int units) {
    Availability a = Availability.of(host, 2);
    double u = host * host;
    double with = 0;
    double without = 0;
    for (int state = 0; state < 1 << pod; state++) {
      int up = Integer.bitCount(state);
      double p = Math.pow(u, up) * Math.pow(1 - u, pod - up);
      with += p * (up / units) * units;
      for (int first = 0; first + units <= pod; first += units) {
        int mask = ((1 << units) - 1) << first;
        without += (state & mask) == mask ? p * units : 0;
      }
    }
    assertThat(a.goodputWithSwitching(units, pod)).isCloseTo(with / pod, within(1e-10));
    assertThat(a.goodputWithoutSwitching(units, pod)).isCloseTo(without / pod, within(1e-10));
  }

  @Property(tries = 200)
  void sparesAreTheFewestThatDo(
      @ForAll @Scale(6) @DoubleRange(min = 0.9, max = 0.99999) double host,
      @ForAll @IntRange(min = 1, max = 2_000) int units,
      @ForAll @Scale(6) @DoubleRange(min = 0, max = 0.999999) double target) {
    Availability cubes = Availability.ofCubes(host);
    int spares = cubes.spares(units, target);
    assertThat(cubes.withSwitching(units, spares)).isGreaterThanOrEqualTo(target);
    if (spares > 0) {
      assertThat(cubes.withSwitching(units, spares - 1)).isLessThan(target);
    }
  }

  @Test
  void knownValues() {
    // 0.99^16, 0.999^16
    assertThat(Availability.ofCubes(0.99).unit()).isCloseTo(0.8514577710948755, within(1e-14));
    assertThat(Availability.ofCubes(0.999).unit()).isCloseTo(0.9841194418156399, within(1e-14));
    // A job of 1,024 hosts without switching: 0.999^1024.
    assertThat(Availability.ofHosts(0.999).withoutSwitching(1_024))
        .isCloseTo(Math.exp(1_024 * Math.log(0.999)), within(1e-13));
    assertThat(Availability.ofCubes(0.999).withoutSwitching(64))
        .isCloseTo(Math.exp(1_024 * Math.log(0.999)), within(1e-13));
    // Fair coins: 10 of 20 or more.
    assertThat(Availability.ofHosts(0.5).withSwitching(10, 10))
        .isCloseTo(0.5880985260009766, within(1e-14));
    assertThat(Availability.ofHosts(1).spares(1_000, 1)).isZero();
    assertThat(Availability.ofHosts(0).withSwitching(1, 5)).isZero();
    assertThat(Availability.ofCubes(0.99).goodputWithSwitching(65, 64)).isZero();
    assertThat(Availability.ofCubes(1).goodputWithSwitching(16, 64)).isEqualTo(1);
    assertThat(Availability.ofCubes(1).plannedGoodput(48, 64, 1)).isEqualTo(0.75);
    // One slice of three quarters of the pod runs nearly always, two halves hardly ever.
    assertThat(Availability.ofCubes(0.99).plannedGoodput(32, 64, 0.9)).isEqualTo(0.5);
  }

  @Test
  void switchingIsWorthMostForLargeSlices() {
    for (double host : new double[] {0.99, 0.995, 0.999}) {
      Availability a = Availability.ofCubes(host);
      for (int units = 1; units <= 64; units *= 2) {
        assertThat(a.goodputWithSwitching(units, 64))
            .isGreaterThanOrEqualTo(a.goodputWithoutSwitching(units, 64) - 1e-12);
      }
    }
    assertThat(Availability.ofCubes(0.99).goodputWithoutSwitching(32, 64)).isLessThan(0.01);
    assertThat(Availability.ofCubes(0.99).goodputWithSwitching(32, 64)).isGreaterThan(0.45);
  }

  @Test
  void aHundredThousandHostsLoseNoDigits() {
    Availability a = Availability.ofHosts(0.999);
    int spares = a.spares(100_000, 0.999_999);
    // Mean 100, deviation 10, so nearly five deviations above.
    assertThat(spares).isBetween(148, 155);
    double last = 0;
    for (int s = 0; s <= 300; s++) {
      double p = a.withSwitching(100_000, s);
      assertThat(p).isBetween(last, 1.0);
      last = p;
    }
    // By the normal approximation, with half a unit of correction.
    assertThat(a.withSwitching(100_000, 100)).isCloseTo(0.526, within(0.01));
    assertThat(Availability.ofHosts(1 - 1e-12).withSwitching(100_000, 0))
        .isCloseTo(1 - 1e-7, within(1e-11));
    assertThat(a.goodputWithSwitching(1, 1_000_000)).isCloseTo(0.999, within(1e-9));
  }

  @Test
  void badFiguresAreAllNamed() {
    assertThat(problems(() -> Availability.of(1.5, 0))).isEqualTo(2);
    assertThat(problems(() -> Availability.ofCubes(Double.NaN))).isOne();
    Availability a = Availability.ofCubes(0.5);
    assertThat(problems(() -> a.withSwitching(0, -1))).isGreaterThanOrEqualTo(2);
    assertThat(problems(() -> a.spares(0, 2))).isEqualTo(2);
    assertThat(problems(() -> a.goodputWithSwitching(0, 0))).isEqualTo(2);
    assertThat(problems(() -> a.plannedGoodput(1, 1, -1))).isOne();
    assertThat(problems(() -> Availability.ofHosts(0).spares(1, 0.5))).isOne();
    assertThat(problems(() -> Availability.ofHosts(0.9).spares(1, 1))).isOne();
  }

  private static int problems(org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
    InvalidInputException e = catchThrowableOfType(InvalidInputException.class, call);
    assertThat(e).isNotNull();
    return e.problems().size();
  }
}
