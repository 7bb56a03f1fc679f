package dev.slicewright.bench;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.chocosolver.solver.constraints.Propagator;
import org.chocosolver.solver.constraints.PropagatorPriority;
import org.chocosolver.solver.exception.ContradictionException;
import org.chocosolver.solver.variables.IntVar;
import org.chocosolver.solver.variables.events.IntEventType;
import org.chocosolver.util.ESat;

/**
 * For Choco: no two placed slices share a cell. When a slice gets its position, every position that
 * overlaps it leaves the other domains. Confined to one thread at a time.
 */
final class NoOverlap extends Propagator<IntVar> {

  private static final long serialVersionUID = 1;

  /** Which positions of each list cover a cell; shared by the models of a portfolio. */
  static final class Index {
    private final Map<List<Positions.Position>, List<List<Integer>>> covering =
        new IdentityHashMap<>();
    private boolean complete = true;

    Index(PositionItems items, long deadline) {
      for (int i = 0; i < items.size(); i++) {
        List<Positions.Position> list = items.positions(i);
        if (System.nanoTime() > deadline) {
          complete = false;
          return;
        }
        if (covering.containsKey(list)) {
          continue;
        }
        List<List<Integer>> byCell = new ArrayList<>();
        for (int c = 0; c < items.at.cellCount; c++) {
          byCell.add(new ArrayList<>(0));
        }
        for (int q = 0; q < list.size(); q++) {
          for (int cell : list.get(q).cells()) {
            byCell.get(cell).add(q);
          }
        }
        covering.put(list, byCell);
      }
    }

    /** Whether time sufficed. */
    boolean isComplete() {
      return complete;
    }
  }

  private final transient Index index;
  private final transient List<List<Positions.Position>> lists = new ArrayList<>();
  private final transient Map<List<Positions.Position>, List<Integer>> itemsOf =
      new IdentityHashMap<>();

  NoOverlap(IntVar[] position, PositionItems items, Index index) {
    super(position, PropagatorPriority.QUADRATIC, true);
    this.index = index;
    for (int i = 0; i < position.length; i++) {
      lists.add(items.positions(i));
      itemsOf.computeIfAbsent(items.positions(i), l -> new ArrayList<>()).add(i);
    }
  }

  @Override
  public int getPropagationConditions(int item) {
    return IntEventType.instantiation();
  }

  @Override
  public void propagate(int mask) throws ContradictionException {
    for (int i = 0; i < vars.length; i++) {
      if (vars[i].isInstantiated()) {
        placed(i);
      }
    }
  }

  @Override
  public void propagate(int item, int mask) throws ContradictionException {
    placed(item);
  }

  /** A propagator is not told of what it did itself, so slices that it places are followed here. */
  private void placed(int first) throws ContradictionException {
    Deque<Integer> open = new ArrayDeque<>(List.of(first));
    while (!open.isEmpty()) {
      int item = open.remove();
      int at = vars[item].getValue();
      if (at > 0) {
        clear(item, lists.get(item).get(at - 1).cells(), open);
      }
    }
  }

  private void clear(int item, int[] cells, Deque<Integer> open) throws ContradictionException {
    for (Map.Entry<List<Positions.Position>, List<Integer>> entry : itemsOf.entrySet()) {
      BitSet gone = new BitSet();
      List<List<Integer>> covering = index.covering.get(entry.getKey());
      for (int cell : cells) {
        for (int q : covering.get(cell)) {
          gone.set(q);
        }
      }
      for (int other : entry.getValue()) {
        if (other == item || vars[other].isInstantiatedTo(0)) {
          continue;
        }
        boolean known = vars[other].isInstantiated();
        for (int q = gone.nextSetBit(0); q >= 0; q = gone.nextSetBit(q + 1)) {
          vars[other].removeValue(q + 1, this);
        }
        if (!known && vars[other].isInstantiated()) {
          open.add(other);
        }
      }
    }
  }

  @Override
  public ESat isEntailed() {
    BitSet taken = new BitSet();
    boolean open = false;
    for (int i = 0; i < vars.length; i++) {
      if (!vars[i].isInstantiated()) {
        open = true;
      } else if (vars[i].getValue() > 0) {
        for (int cell : lists.get(i).get(vars[i].getValue() - 1).cells()) {
          if (taken.get(cell)) {
            return ESat.FALSE;
          }
          taken.set(cell);
        }
      }
    }
    return open ? ESat.UNDEFINED : ESat.TRUE;
  }
}
