package dev.slicewright.kubernetes;

import dev.slicewright.topology.HostId;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Who has which cell of which pod of the fleet. Confined to one thread at a time. */
final class TakenChips {

  private final Map<String, @Nullable Claim[]> byDomain = new HashMap<>();

  /** One of those that have some of these cells: the one with the first. O(cells). */
  Optional<Claim> holder(Domain domain, int[] cells) {
    @Nullable Claim[] taken = byDomain.get(domain.id());
    for (int i = 0; taken != null && i < cells.length; i++) {
      if (taken[cells[i]] != null) {
        return Optional.of(taken[cells[i]]);
      }
    }
    return Optional.empty();
  }

  Optional<Claim> holder(Domain domain, HostId host) {
    return holder(domain, domain.topology().cells(host));
  }

  /** Takes the cells of a claim, which must be free. */
  void add(Claim claim) {
    @Nullable Claim[] taken =
        byDomain.computeIfAbsent(
            claim.domain.id(), id -> new @Nullable Claim[claim.domain.topology().cellCount()]);
    for (int cell : claim.cells) {
      taken[cell] = claim;
    }
  }
}
