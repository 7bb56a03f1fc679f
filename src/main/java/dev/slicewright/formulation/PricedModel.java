package dev.slicewright.formulation;

import static java.lang.Math.addExact;
import static java.lang.Math.multiplyExact;
import static java.lang.Math.negateExact;
import static java.lang.Math.subtractExact;

import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What prices prove of one level: weak duality of linear programming, in exact arithmetic on longs
 * in units of 2^-20. Confined to one thread at a time.
 *
 * <p>With the level written as a maximum, the bound is the sum of the priced limits, less the
 * priced held values, plus for every group (gang) the best that its joint choices earn after paying
 * for cells and rows, staying unplaced among them where it may. A joint choice has one shape and
 * one pod where the group asks for that; what says how items spread counts as far as the best
 * values of each domain tell, and unions as far as they give room. All that is left out makes a
 * bound larger, never wrong. O(n log n) for n cells, gains and terms in the candidates.
 *
 * @see <a href="https://doi.org/10.1287/mnsc.27.1.1">Fisher (1981), The Lagrangian relaxation
 *     method for solving integer programming problems</a>
 */
final class PricedModel {

  /** No such choice. */
  private static final long NONE = Long.MIN_VALUE;

  private final PlacementModel model;
  private final int level;
  private final long[] held;
  private final ModelPrices prices;
  private final long[] weights; // of each level, for gains as they stand
  private final long[] reduced; // by candidate
  private final List<List<Integer>> candidatesOfGroup = new ArrayList<>();
  private final int[] itemsOfGroup;
  private final int[] placeInGroup; // of each item
  private final Joint[] joints;
  private final Map<Integer, long[]> gangs = new HashMap<>(); // placed, absent
  private long total;
  private boolean impossible;
  private long gcd;

  /** What a group can earn. */
  private static final class Joint {
    long placed = NONE;
    long absent = NONE;
    long moving; // added once if it moves
    final Map<Long, Choice> byKey = new HashMap<>();
  }

  /** The joint choices of one shape and pod: the best of each item. */
  private static final class Choice {
    final long[] stays;
    final long[] moves;
    long allStay; // NONE if an item cannot
    long all; // the best of each, moving or not
    int movers; // items that can move

    Choice(int items) {
      stays = new long[items];
      moves = new long[items];
      Arrays.fill(stays, NONE);
      Arrays.fill(moves, NONE);
    }

    long best(int item) {
      return Math.max(stays[item], moves[item]);
    }
  }

  /**
   * Evaluates.
   *
   * @throws IllegalArgumentException if the lengths do not fit
   * @throws ArithmeticException on overflow
   */
  PricedModel(PlacementModel model, int level, long[] held, ModelPrices prices) {
    if (level < 0 || level >= model.levels().size() || held.length != level) {
      throw new IllegalArgumentException(
          "Expected a level below "
              + model.levels().size()
              + " and a held value for each earlier one, but was level "
              + level
              + " with "
              + held.length
              + ".");
    }
    if (prices.cells().length != model.cellCount()
        || prices.rows().length != model.rows().size()
        || prices.earlier().length != level) {
      throw new IllegalArgumentException(
          "Expected prices for "
              + model.cellCount()
              + " cells, "
              + model.rows().size()
              + " rows and "
              + level
              + " levels, but was "
              + prices
              + ".");
    }
    this.model = model;
    this.level = level;
    this.held = held;
    this.prices = prices;
    this.weights = new long[level + 1];
    for (int l = 0; l <= level; l++) {
      long price = l == level ? ModelPrices.UNIT : prices.earlier()[l];
      weights[l] = model.levels().get(l).maximise() ? price : -price;
    }
    this.reduced = new long[model.candidates().size()];
    this.itemsOfGroup = new int[model.groups().size()];
    this.placeInGroup = new int[model.items().size()];
    this.joints = new Joint[model.groups().size()];
    evaluate();
  }

  /** Whether some mandatory group has no choice at all. */
  boolean impossible() {
    return impossible;
  }

  /** The bound, as the level counts. */
  long bound() {
    return fromMaximum(rounded(total));
  }

  /** The candidates that no solution better than a value has. */
  BitSet useless(long value) {
    long than = model.levels().get(level).maximise() ? value : negateExact(value);
    BitSet out = new BitSet();
    for (int c = 0; c < reduced.length; c++) {
      if (rounded(with(c)) <= than) {
        out.set(c);
      }
    }
    return out;
  }

  // ---- evaluation ------------------------------------------------------------------------------

  private void evaluate() {
    for (int g = 0; g < joints.length; g++) {
      candidatesOfGroup.add(new ArrayList<>());
    }
    for (int i = 0; i < placeInGroup.length; i++) {
      placeInGroup[i] = itemsOfGroup[model.items().get(i).group()]++;
    }
    for (int c = 0; c < reduced.length; c++) {
      Candidate candidate = model.candidates().get(c);
      long value = subtractExact(weighted(candidate.gains()), cost(candidate.terms()));
      for (int cell : candidate.cells()) {
        value = subtractExact(value, prices.cells()[cell]);
      }
      reduced[c] = value;
      candidatesOfGroup.get(model.items().get(candidate.item()).group()).add(c);
      mayGain(candidate.gains());
    }
    for (long price : prices.cells()) {
      total = addExact(total, price);
    }
    for (int r = 0; r < prices.rows().length; r++) {
      long price = prices.rows()[r];
      total = price == 0 ? total : addExact(total, multiplyExact(price, limit(r)));
    }
    for (int l = 0; l < level; l++) {
      total = weights[l] == 0 ? total : subtractExact(total, multiplyExact(weights[l], held[l]));
    }
    for (Union union : model.unions()) {
      long cost = cost(union.terms());
      total = cost < 0 ? subtractExact(total, cost) : total;
    }
    for (int g = 0; g < joints.length; g++) {
      Group group = model.groups().get(g);
      Joint joint = joint(g, group);
      joints[g] = joint;
      mayGain(group.movedGain());
      mayGain(group.absentGain());
      if (group.gang() < 0) {
        add(joint.placed, joint.absent);
      } else {
        long[] gang = gangs.computeIfAbsent(group.gang(), k -> new long[2]);
        gang[0] = sum(gang[0], joint.placed);
        gang[1] = sum(gang[1], joint.absent);
      }
    }
    gangs.values().forEach(gang -> add(gang[0], gang[1]));
  }

  private long limit(int row) {
    return model.rows().get(row).limit();
  }

  private void add(long placed, long absent) {
    long best = Math.max(placed, absent);
    if (best == NONE) {
      impossible = true;
    } else {
      total = addExact(total, best);
    }
  }

  private static long sum(long a, long b) {
    return a == NONE || b == NONE ? NONE : addExact(a, b);
  }

  private Joint joint(int g, Group group) {
    Joint joint = new Joint();
    int items = itemsOfGroup[g];
    if (items == 0) {
      joint.placed = 0; // all of its no items are placed
      return joint;
    }
    if (!group.mandatory()) {
      joint.absent = weighted(group.absentGain());
      if (group.running()) {
        joint.absent = subtractExact(joint.absent, cost(group.disturbedTerms()));
      }
    }
    joint.moving = subtractExact(weighted(group.movedGain()), cost(group.disturbedTerms()));
    boolean spread = items > 1 && (group.differentPods() || group.maxPerDomain() > 0);
    Map<Long, List<Integer>> members = new HashMap<>();
    for (int c : candidatesOfGroup.get(g)) {
      Candidate candidate = model.candidates().get(c);
      long key = key(group, candidate);
      Choice choice = joint.byKey.computeIfAbsent(key, k -> new Choice(items));
      long[] into = candidate.moves() ? choice.moves : choice.stays;
      int at = placeInGroup[candidate.item()];
      into[at] = Math.max(into[at], reduced[c]);
      if (spread) {
        members.computeIfAbsent(key, k -> new ArrayList<>()).add(c);
      }
    }
    for (Map.Entry<Long, Choice> entry : joint.byKey.entrySet()) {
      Choice choice = entry.getValue();
      long loss = Long.MAX_VALUE; // of making one item move
      for (int i = 0; i < items; i++) {
        choice.allStay = sum(choice.allStay, choice.stays[i]);
        choice.all = sum(choice.all, choice.best(i));
        if (choice.moves[i] != NONE) {
          choice.movers++;
          loss = Math.min(loss, subtractExact(choice.best(i), choice.moves[i]));
        }
      }
      long stay = choice.allStay;
      long move = NONE;
      if (choice.all != NONE && choice.movers > 0) {
        move = addExact(subtractExact(choice.all, loss), joint.moving);
      }
      if (spread) {
        List<Integer> own = members.getOrDefault(entry.getKey(), List.of());
        stay = Math.min(stay, apart(group, own, items, false));
        move = Math.min(move, sum(apart(group, own, items, true), joint.moving));
      }
      joint.placed = Math.max(joint.placed, Math.max(stay, move));
    }
    return joint;
  }

  private static long key(Group group, Candidate candidate) {
    long shape = group.sameShape() ? candidate.shape() : 0;
    long pod = group.samePod() ? candidate.pod() : 0;
    return shape << 32 | pod & 0xFFFFFFFFL;
  }

  /** At most what the best values of each pod, or domain, sum to; NONE if there are too few. */
  private long apart(Group group, List<Integer> candidates, int items, boolean moving) {
    long best = Long.MAX_VALUE;
    for (int way = 0; way < 2; way++) {
      int most = way == 0 ? (group.differentPods() ? 1 : 0) : group.maxPerDomain();
      if (most == 0) {
        continue;
      }
      Map<Integer, Long> byPlace = new HashMap<>();
      for (int c : candidates) {
        Candidate candidate = model.candidates().get(c);
        if (moving || !candidate.moves()) {
          byPlace.merge(way == 0 ? candidate.pod() : candidate.domain(), reduced[c], Math::max);
        }
      }
      List<Long> sorted = new ArrayList<>(byPlace.values());
      sorted.sort(Collections.reverseOrder());
      long sum = 0;
      int left = items;
      for (long value : sorted) {
        int n = Math.min(left, most);
        sum = addExact(sum, multiplyExact(value, (long) n));
        left -= n;
      }
      best = Math.min(best, left > 0 ? NONE : sum);
    }
    return best;
  }

  /** The total of solutions that choose a candidate; NONE if there are none. */
  private long with(int c) {
    Candidate candidate = model.candidates().get(c);
    int g = model.items().get(candidate.item()).group();
    Group group = model.groups().get(g);
    Joint joint = joints[g];
    Choice choice = joint.byKey.get(key(group, candidate));
    if (choice == null || choice.all == NONE) {
      return NONE;
    }
    int at = placeInGroup[candidate.item()];
    long others = subtractExact(choice.all, choice.best(at));
    long moved = addExact(addExact(others, reduced[c]), joint.moving);
    long placed = moved;
    if (!candidate.moves()) {
      boolean another = choice.movers > (choice.moves[at] == NONE ? 0 : 1);
      placed = another ? moved : NONE;
      if (choice.allStay != NONE) {
        long stay = addExact(subtractExact(choice.allStay, choice.stays[at]), reduced[c]);
        placed = Math.max(placed, stay);
      }
    }
    if (placed == NONE) {
      return NONE;
    }
    if (group.gang() < 0) {
      return addExact(subtractExact(total, Math.max(joint.placed, joint.absent)), placed);
    }
    long[] gang = gangs.getOrDefault(group.gang(), new long[] {NONE, NONE});
    if (gang[0] == NONE) {
      return NONE;
    }
    long rest = subtractExact(gang[0], joint.placed);
    return addExact(subtractExact(total, Math.max(gang[0], gang[1])), addExact(rest, placed));
  }

  // ---- arithmetic ------------------------------------------------------------------------------

  private long weighted(long[] gains) {
    long sum = 0;
    for (int l = 0; l < Math.min(gains.length, level + 1); l++) {
      sum = gains[l] == 0 ? sum : addExact(sum, multiplyExact(weights[l], gains[l]));
    }
    return sum;
  }

  private long cost(List<Term> terms) {
    long sum = 0;
    for (Term term : terms) {
      long price = prices.rows()[term.row()];
      sum = price == 0 ? sum : addExact(sum, multiplyExact(price, term.coefficient()));
    }
    return sum;
  }

  private void mayGain(long[] gains) {
    long a = gains.length == 0 ? 0 : Math.abs(gains[level]);
    while (a != 0) {
      long rest = gcd % a;
      gcd = a;
      a = rest;
    }
  }

  /** Rounded towards the value: every value is a multiple of what the gains have in common. */
  private long rounded(long sum) {
    if (sum == NONE) {
      return NONE;
    }
    if (gcd == 0) {
      return 0; // nothing changes this level
    }
    return multiplyExact(gcd, Math.floorDiv(Math.floorDiv(sum, ModelPrices.UNIT), gcd));
  }

  private long fromMaximum(long value) {
    return model.levels().get(level).maximise() ? value : negateExact(value);
  }
}
