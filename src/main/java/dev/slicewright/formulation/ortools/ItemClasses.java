package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Items that a solver need not tell apart. Immutable, safe to share.
 *
 * <p>Two items are of one class if they have the same set of candidates (but for the item's number
 * and the grid place) and either lie in one group, or each is alone in a group of its own that
 * differs in nothing and has no gang and no union. Equal candidates of one item count once.
 *
 * <p>O(n log n) for n cells, gains and terms in all candidates. The order of classes and ways
 * follows the model's.
 */
final class ItemClasses {

  /**
   * Items of one class.
   *
   * @param group the group of the first; of all, unless {@code loose}
   * @param loose whether each item is alone in its group and free of gangs and unions
   * @param items the items, ascending
   * @param ways for each distinct candidate, the number of one of its copies
   * @param copies for each item (as {@code items}) and way the candidate
   */
  record ItemClass(int group, boolean loose, int[] items, int[] ways, int[][] copies) {
    int size() {
      return items.length;
    }
  }

  private final List<ItemClass> classes;
  private final int[] classOfItem;
  private final int[] wayOfCandidate;

  private ItemClasses(List<ItemClass> classes, int[] classOfItem, int[] wayOfCandidate) {
    this.classes = List.copyOf(classes);
    this.classOfItem = classOfItem;
    this.wayOfCandidate = wayOfCandidate;
  }

  List<ItemClass> all() {
    return classes;
  }

  int classOfItem(int item) {
    return classOfItem[item];
  }

  /** The index in {@link ItemClass#ways} of a candidate, in the class of its item. */
  int wayOfCandidate(int candidate) {
    return wayOfCandidate[candidate];
  }

  static ItemClasses of(PlacementModel model) {
    int items = model.items().size();
    int candidates = model.candidates().size();

    // Equal candidates get one number, in order of appearance.
    Map<CandidateKey, Integer> numbers = new HashMap<>();
    Map<SharedKey, Integer> shared = new HashMap<>();
    int[] number = new int[candidates];
    int[] perItem = new int[items];
    for (int c = 0; c < candidates; c++) {
      Candidate candidate = model.candidates().get(c);
      number[c] =
          shared.computeIfAbsent(
              new SharedKey(candidate),
              s -> numbers.computeIfAbsent(new CandidateKey(candidate), k -> numbers.size()));
      perItem[candidate.item()]++;
    }
    // For each item its candidates as number << 32 | index, sorted: by number, then index.
    long[][] sorted = new long[items][];
    for (int i = 0; i < items; i++) {
      sorted[i] = new long[perItem[i]];
    }
    for (int c = candidates - 1; c >= 0; c--) {
      int item = model.candidates().get(c).item();
      sorted[item][--perItem[item]] = (long) number[c] << 32 | c;
    }

    int[] groupSize = new int[model.groups().size()];
    model.items().forEach(item -> groupSize[item.group()]++);
    boolean[] tied = new boolean[groupSize.length];
    for (int g = 0; g < tied.length; g++) {
      tied[g] = groupSize[g] != 1 || model.groups().get(g).gang() >= 0;
    }
    for (Union union : model.unions()) {
      for (int g : union.groups()) {
        tied[g] = true;
      }
    }

    Map<ClassKey, List<Integer>> members = new LinkedHashMap<>();
    for (int i = 0; i < items; i++) {
      Arrays.sort(sorted[i]);
      int g = model.items().get(i).group();
      Object where = tied[g] ? (Object) g : new GroupKey(model.groups().get(g));
      members
          .computeIfAbsent(new ClassKey(where, distinct(sorted[i])), k -> new ArrayList<>())
          .add(i);
    }

    List<ItemClass> classes = new ArrayList<>(members.size());
    int[] classOfItem = new int[items];
    int[] wayOfCandidate = new int[candidates];
    for (Map.Entry<ClassKey, List<Integer>> entry : members.entrySet()) {
      int[] ids = entry.getValue().stream().mapToInt(Integer::intValue).toArray();
      int[][] copies = new int[ids.length][entry.getKey().numbers.length];
      for (int p = 0; p < ids.length; p++) {
        int way = -1;
        long last = -1;
        for (long packed : sorted[ids[p]]) {
          if (packed >>> 32 != last) {
            last = packed >>> 32;
            copies[p][++way] = (int) packed;
          }
          wayOfCandidate[(int) packed] = way;
        }
        classOfItem[ids[p]] = classes.size();
      }
      int group = model.items().get(ids[0]).group();
      classes.add(new ItemClass(group, !tied[group], ids, copies[0], copies));
    }
    return new ItemClasses(classes, classOfItem, wayOfCandidate);
  }

  private static int[] distinct(long[] sorted) {
    return Arrays.stream(sorted).mapToInt(packed -> (int) (packed >>> 32)).distinct().toArray();
  }

  /** Terms by row, each row once, zeros left out. */
  static Map<Integer, Long> sum(List<Term> terms) {
    if (terms.isEmpty()) {
      return Map.of();
    }
    Map<Integer, Long> sums = new TreeMap<>();
    for (Term term : terms) {
      sums.merge(term.row(), term.coefficient(), Math::addExact);
    }
    sums.values().removeIf(value -> value == 0);
    return sums;
  }

  /** As {@link CandidateKey}, told by whether the arrays are the same: copies often share them. */
  private static final class SharedKey {
    private final Candidate candidate;

    SharedKey(Candidate candidate) {
      this.candidate = candidate;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof SharedKey that
          && candidate.cells() == that.candidate.cells()
          && candidate.gains() == that.candidate.gains()
          && candidate.terms() == that.candidate.terms()
          && candidate.shape() == that.candidate.shape()
          && candidate.pod() == that.candidate.pod()
          && candidate.domain() == that.candidate.domain()
          && candidate.moves() == that.candidate.moves();
    }

    @Override
    public int hashCode() {
      return (System.identityHashCode(candidate.cells()) * 31 + candidate.shape()) * 31
          + candidate.pod();
    }
  }

  /** What a candidate is, but for its item and its grid place. */
  private static final class CandidateKey {
    private final Candidate candidate;
    private final Map<Integer, Long> terms;
    private final int hash;

    CandidateKey(Candidate candidate) {
      this.candidate = candidate;
      this.terms = sum(candidate.terms());
      int h = Arrays.hashCode(candidate.cells());
      h = 31 * h + Arrays.hashCode(candidate.gains());
      h = 31 * h + terms.hashCode();
      h = 31 * h + candidate.shape();
      h = 31 * h + candidate.pod();
      h = 31 * h + candidate.domain();
      this.hash = 31 * h + (candidate.moves() ? 1 : 0);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof CandidateKey that
          && hash == that.hash
          && Arrays.equals(candidate.cells(), that.candidate.cells())
          && Arrays.equals(candidate.gains(), that.candidate.gains())
          && terms.equals(that.terms)
          && candidate.shape() == that.candidate.shape()
          && candidate.pod() == that.candidate.pod()
          && candidate.domain() == that.candidate.domain()
          && candidate.moves() == that.candidate.moves();
    }

    @Override
    public int hashCode() {
      return hash;
    }
  }

  /** What counts of a group that has one item, no gang and no union. */
  record GroupKey(
      boolean mandatory,
      boolean running,
      List<Long> movedGain,
      List<Long> absentGain,
      Map<Integer, Long> disturbedTerms) {

    GroupKey(Group group) {
      this(
          group.mandatory(),
          group.running(),
          Arrays.stream(group.movedGain()).boxed().toList(),
          Arrays.stream(group.absentGain()).boxed().toList(),
          sum(group.disturbedTerms()));
    }
  }

  private static final class ClassKey {
    private final Object where;
    private final int[] numbers;

    ClassKey(Object where, int[] numbers) {
      this.where = where;
      this.numbers = numbers;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof ClassKey that
          && where.equals(that.where)
          && Arrays.equals(numbers, that.numbers);
    }

    @Override
    public int hashCode() {
      return 31 * where.hashCode() + Arrays.hashCode(numbers);
    }
  }
}
