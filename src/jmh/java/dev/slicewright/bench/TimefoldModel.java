package dev.slicewright.bench;

import ai.timefold.solver.core.api.domain.entity.PlanningEntity;
import ai.timefold.solver.core.api.domain.solution.PlanningEntityCollectionProperty;
import ai.timefold.solver.core.api.domain.solution.PlanningScore;
import ai.timefold.solver.core.api.domain.solution.PlanningSolution;
import ai.timefold.solver.core.api.domain.valuerange.ValueRangeProvider;
import ai.timefold.solver.core.api.domain.variable.PlanningVariable;
import ai.timefold.solver.core.api.score.buildin.hardmediumsoftlong.HardMediumSoftLongScore;
import ai.timefold.solver.core.api.score.calculator.IncrementalScoreCalculator;
import ai.timefold.solver.core.api.score.director.ScoreDirector;
import ai.timefold.solver.core.impl.heuristic.move.AbstractMove;
import ai.timefold.solver.core.impl.heuristic.selector.move.factory.MoveIteratorFactory;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * What Timefold works on: slices that each take a position or none, no cell twice, as many weighted
 * chips as may be. The score is kept step by step: overlaps are hard, chips of complete requests
 * and gangs medium, chips of all placed slices soft. Stateless; the nested classes are what
 * Timefold's reflection has to see.
 */
public final class TimefoldModel {

  /** The place of a slice that is not placed; the last of every slice's range. */
  static final Positions.Position NOWHERE = new Positions.Position(-1, new int[0], null);

  private TimefoldModel() {}

  /** A slice. Not safe; external synchronisation needed. */
  @PlanningEntity
  public static class Slice {
    int number;
    int unit;
    long gain;
    private List<Positions.Position> places;
    private Positions.Position position;

    /** For Timefold. */
    public Slice() {}

    Slice(int number, int unit, long gain, List<Positions.Position> positions) {
      this.number = number;
      this.unit = unit;
      this.gain = gain;
      this.places = new ArrayList<>(positions);
      this.places.add(NOWHERE);
    }

    /** The range of the variable. */
    @ValueRangeProvider
    public List<Positions.Position> getPlaces() {
      return places;
    }

    /** The variable. */
    @PlanningVariable
    public Positions.Position getPosition() {
      return position;
    }

    /** For Timefold. */
    public void setPosition(Positions.Position value) {
      position = value;
    }

    boolean isPlaced() {
      return position != null && position != NOWHERE;
    }
  }

  /** All slices. Not safe; external synchronisation needed. */
  @PlanningSolution
  public static class Packing {
    private List<Slice> slices;
    private HardMediumSoftLongScore score;
    int cells;

    /** By cell: how many slices lie there, and the sum of their numbers. The calculator's. */
    int[] count;

    int[] numbers;

    /** For Timefold. */
    public Packing() {}

    Packing(List<Slice> slices, int cells) {
      this.slices = slices;
      this.cells = cells;
    }

    /** The entities, in order of number. */
    @PlanningEntityCollectionProperty
    public List<Slice> getSlices() {
      return slices;
    }

    /** For Timefold. */
    public void setSlices(List<Slice> value) {
      slices = value;
    }

    /** The score. */
    @PlanningScore
    public HardMediumSoftLongScore getScore() {
      return score;
    }

    /** For Timefold. */
    public void setScore(HardMediumSoftLongScore value) {
      score = value;
    }
  }

  /** Keeps the score. Confined to one thread at a time. */
  public static class Calculator
      implements IncrementalScoreCalculator<Packing, HardMediumSoftLongScore> {
    private int[] count = new int[0];
    private int[] numbers = new int[0];
    private int[] missing = new int[0]; // slices of each unit that are not placed
    private long[] unitGain = new long[0];
    private long overlaps;
    private long complete;
    private long placed;

    /** For Timefold. */
    public Calculator() {}

    @Override
    public void resetWorkingSolution(Packing packing) {
      count = new int[packing.cells];
      numbers = new int[packing.cells];
      packing.count = count;
      packing.numbers = numbers;
      int units = packing.getSlices().stream().mapToInt(s -> s.unit).max().orElse(-1) + 1;
      missing = new int[units];
      unitGain = new long[units];
      overlaps = 0;
      complete = 0;
      placed = 0;
      for (Slice slice : packing.getSlices()) {
        missing[slice.unit]++;
        unitGain[slice.unit] += slice.gain;
      }
      packing.getSlices().forEach(this::add);
    }

    private void add(Slice slice) {
      if (!slice.isPlaced()) {
        return;
      }
      for (int cell : slice.getPosition().cells()) {
        overlaps += count[cell];
        count[cell]++;
        numbers[cell] += slice.number;
      }
      placed += slice.gain;
      if (--missing[slice.unit] == 0) {
        complete += unitGain[slice.unit];
      }
    }

    private void remove(Slice slice) {
      if (!slice.isPlaced()) {
        return;
      }
      for (int cell : slice.getPosition().cells()) {
        count[cell]--;
        overlaps -= count[cell];
        numbers[cell] -= slice.number;
      }
      placed -= slice.gain;
      if (missing[slice.unit]++ == 0) {
        complete -= unitGain[slice.unit];
      }
    }

    @Override
    public void beforeVariableChanged(Object entity, String variable) {
      remove((Slice) entity);
    }

    @Override
    public void afterVariableChanged(Object entity, String variable) {
      add((Slice) entity);
    }

    @Override
    public void beforeEntityAdded(Object entity) {}

    @Override
    public void afterEntityAdded(Object entity) {}

    @Override
    public void beforeEntityRemoved(Object entity) {}

    @Override
    public void afterEntityRemoved(Object entity) {}

    @Override
    public HardMediumSoftLongScore calculateScore() {
      return HardMediumSoftLongScore.of(-overlaps, complete, placed);
    }
  }

  /** Puts a slice on a position and takes off what lies there. Immutable, safe to share. */
  static final class Put extends AbstractMove<Packing> {
    private final Slice slice;
    private final Positions.Position to;
    private final Set<Slice> off;

    Put(Slice slice, Positions.Position to, Set<Slice> off) {
      this.slice = slice;
      this.to = to;
      this.off = off;
    }

    @Override
    protected void doMoveOnGenuineVariables(ScoreDirector<Packing> director) {
      for (Slice other : off) {
        set(director, other, NOWHERE);
      }
      set(director, slice, to);
    }

    private static void set(ScoreDirector<Packing> director, Slice slice, Positions.Position to) {
      director.beforeVariableChanged(slice, "position");
      slice.setPosition(to);
      director.afterVariableChanged(slice, "position");
    }

    @Override
    public boolean isMoveDoable(ScoreDirector<Packing> director) {
      return slice.getPosition() != to;
    }

    @Override
    public Collection<?> getPlanningEntities() {
      Set<Slice> all = new LinkedHashSet<>(off);
      all.add(slice);
      return all;
    }

    @Override
    public Collection<?> getPlanningValues() {
      return List.of(to, NOWHERE);
    }
  }

  /** Random {@link Put}s. Stateless. */
  public static class Puts implements MoveIteratorFactory<Packing, Put> {

    /** For Timefold. */
    public Puts() {}

    @Override
    public long getSize(ScoreDirector<Packing> director) {
      return director.getWorkingSolution().getSlices().stream()
          .mapToLong(s -> s.getPlaces().size())
          .sum();
    }

    @Override
    public Iterator<Put> createOriginalMoveIterator(ScoreDirector<Packing> director) {
      throw new UnsupportedOperationException("These moves are random only.");
    }

    @Override
    public Iterator<Put> createRandomMoveIterator(ScoreDirector<Packing> director, Random random) {
      Packing packing = director.getWorkingSolution();
      List<Slice> slices = packing.getSlices();
      return new Iterator<>() {
        @Override
        public boolean hasNext() {
          return !slices.isEmpty();
        }

        @Override
        public Put next() {
          Slice slice = slices.get(random.nextInt(slices.size()));
          Positions.Position to = slice.getPlaces().get(random.nextInt(slice.getPlaces().size()));
          Set<Slice> off = new LinkedHashSet<>();
          for (int cell : to.cells()) {
            if (packing.count[cell] == 1 && packing.numbers[cell] != slice.number) {
              off.add(slices.get(packing.numbers[cell]));
            }
          }
          return new Put(slice, to, off);
        }
      };
    }
  }
}
