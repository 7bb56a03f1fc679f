package dev.slicewright.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;

class PersistentMapPropertiesTest {

  @Property(tries = 300)
  void isATreeMapWhoseOldVersionsStay(
      @ForAll @Size(max = 120) List<@IntRange(min = -40, max = 40) Integer> steps,
      @ForAll @IntRange(min = -45, max = 45) int from) {
    TreeMap<Integer, String> model = new TreeMap<>();
    PersistentMap<Integer, String> map = PersistentMap.empty();
    List<PersistentMap<Integer, String>> versions = new ArrayList<>();
    List<TreeMap<Integer, String>> models = new ArrayList<>();
    for (int i = 0; i < steps.size(); i++) {
      int key = steps.get(i);
      if (i % 3 == 2) {
        model.remove(key);
        map = map.without(key);
      } else {
        model.put(key, "v" + i);
        map = map.with(key, "v" + i);
      }
      versions.add(map);
      models.add(new TreeMap<>(model));
    }
    for (int i = 0; i < versions.size(); i++) {
      assertSame(versions.get(i), models.get(i), from);
    }
    assertSame(PersistentMap.of(model), model, from);
  }

  @Property(tries = 20)
  void staysBalancedWhateverTheOrder(
      @ForAll @IntRange(min = 1, max = 3000) int n, @ForAll @IntRange(max = 2) int order) {
    PersistentMap<Integer, Integer> map = PersistentMap.empty();
    for (int i = 0; i < n; i++) {
      int key = order == 0 ? i : order == 1 ? -i : Integer.reverse(i);
      map = map.with(key, i);
      assertThat(map.height()).isLessThanOrEqualTo(bound(map.size()));
    }
    TreeMap<Integer, Integer> all = new TreeMap<>();
    map.values(null).forEach(v -> all.put(v, v));
    assertThat(PersistentMap.of(all).height())
        .isLessThanOrEqualTo(32 - Integer.numberOfLeadingZeros(n));
    PersistentMap<Integer, Integer> bulk = PersistentMap.of(all);
    for (int i = 0; i < n; i++) {
      map = map.without(order == 0 ? i : order == 1 ? -i : Integer.reverse(i));
      bulk = bulk.without(n - 1 - i);
      assertThat(map.size()).isEqualTo(n - 1 - i);
      assertThat(map.height()).isLessThanOrEqualTo(bound(map.size()));
      assertThat(bulk.height()).isLessThanOrEqualTo(bound(bulk.size()));
    }
  }

  private static int bound(int size) {
    return (int) Math.floor(1.4405 * Math.log(size + 2) / Math.log(2));
  }

  private static void assertSame(
      PersistentMap<Integer, String> map, TreeMap<Integer, String> model, int from) {
    assertThat(map.size()).isEqualTo(model.size());
    assertThat(map.height()).isLessThanOrEqualTo(bound(model.size()));
    assertThat(map.values(null)).containsExactlyElementsOf(model.values());
    assertThat(map.values(from))
        .hasSize(model.tailMap(from).size())
        .containsExactlyElementsOf(model.tailMap(from).values());
    for (int key = -45; key <= 45; key++) {
      assertThat(map.get(key)).isEqualTo(model.get(key));
    }
    Iterator<String> end = map.values(46).iterator();
    assertThatThrownBy(end::next).isInstanceOf(NoSuchElementException.class);
    assertThat(map.without(99)).isSameAs(map);
  }
}
