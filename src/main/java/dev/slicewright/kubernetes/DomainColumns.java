package dev.slicewright.kubernetes;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The labels of domains by key, so that many templates look each up once. Confined to one thread at
 * a time.
 */
final class DomainColumns {

  /** What stands for a label in which the nodes of a domain differ; compare it by identity. */
  @SuppressWarnings("StringOperationCanBeSimplified") // a text that is no other
  static final String DIFFERS = new String("differs");

  private final List<Domain> domains;
  private final Map<String, @Nullable String[]> columns = new HashMap<>();
  private final Map<Set<String>, List<Integer>> byAccelerators = new HashMap<>();

  DomainColumns(Collection<Domain> domains) {
    this.domains = List.copyOf(domains);
  }

  List<Domain> domains() {
    return domains;
  }

  /** The numbers of the domains of some accelerators, ascending; of all if none is named. */
  List<Integer> of(Set<String> accelerators) {
    return byAccelerators.computeIfAbsent(
        accelerators,
        names ->
            IntStream.range(0, domains.size())
                .filter(
                    i ->
                        names.isEmpty()
                            || names.contains(domains.get(i).topology().accelerator().name()))
                .boxed()
                .toList());
  }

  /** The value that all nodes of a domain have, by its number; null where none has one. */
  @Nullable String value(String key, int domain) {
    @Nullable String[] column = columns.get(key);
    if (column == null) {
      column = column(key);
      columns.put(key, column);
    }
    return column[domain];
  }

  private @Nullable String[] column(String key) {
    @Nullable String[] column = new @Nullable String[domains.size()];
    for (int i = 0; i < column.length; i++) {
      Domain domain = domains.get(i);
      column[i] = domain.varyingLabels().contains(key) ? DIFFERS : domain.labels().get(key);
    }
    return column;
  }
}
