package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.plan.Certificate;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A certificate kept the caller's prices by reference and handed its own out. */
class CertificateLeaksTest {

  @Test
  void pricesOfCellsAreCopiedInAndOut() {
    long[] mine = {1, 2};
    Certificate.CellPrices prices = new Certificate.CellPrices("pod", mine);
    int hash = prices.hashCode();

    mine[0] = 7;
    prices.byCell()[1] = 7;

    assertThat(prices.byCell()).containsExactly(1, 2);
    assertThat(prices).hasSameHashCodeAs(hash);
  }

  @Test
  void pricesOfEarlierLevelsAreCopiedInAndOut() {
    long[] mine = {3};
    Certificate certificate = new Certificate(1, List.of(), List.of(), mine);

    mine[0] = 7;
    certificate.earlier()[0] = 7;

    assertThat(certificate.earlier()).containsExactly(3);
  }
}
