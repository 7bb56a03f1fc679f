package dev.slicewright.plan;

import java.util.Objects;

/** What stands behind a bound. Immutable, safe to share. */
public sealed interface Proof {

  /**
   * Nothing but arithmetic on the requests: the bound is what is asked for. Immutable, safe to
   * share.
   */
  record Trivial() implements Proof {
    @Override
    public String toString() {
      return "trivial";
    }
  }

  /**
   * Prices that anyone can check. Immutable, safe to share.
   *
   * @param certificate the prices
   */
  record Certified(Certificate certificate) implements Proof {
    /** Checks for null. */
    public Certified {
      Objects.requireNonNull(certificate, "certificate");
    }

    @Override
    public String toString() {
      return "certificate";
    }
  }

  /**
   * Prices that anyone can check, for each of several cases that leave none out. Immutable, safe to
   * share.
   *
   * <p>For where one certificate falls short: say that boxes of half a pod leave room for 2.5 of
   * them by any prices; then "at most 2" and "at least 3" each have prices that settle them.
   *
   * @param tree the cases
   */
  record Branched(BranchTree tree) implements Proof {
    /** Checks for null. */
    public Branched {
      Objects.requireNonNull(tree, "tree");
    }

    @Override
    public String toString() {
      int cases = tree.leaves();
      return cases == 1 ? "certificate of 1 case" : "certificates of " + cases + " cases";
    }
  }

  /**
   * All that moving and evicting could do, by counting room: {@link CountedRepairs}. {@link
   * PlanVerifier} counts anew. Immutable, safe to share.
   */
  record Counted() implements Proof {
    @Override
    public String toString() {
      return "count of the room";
    }
  }

  /**
   * Every place that the one wanted slice could take, weighed by what would have to move or leave
   * for it. {@link PlanVerifier} enumerates them anew. Immutable, safe to share.
   *
   * @param places how many places there are; for a slice of whole cubes, how many cubes it may be
   *     made of
   */
  record Enumerated(long places) implements Proof {
    @Override
    public String toString() {
      return "enumeration of " + places + (places == 1 ? " place" : " places");
    }
  }

  /**
   * A search of all ways to make room for one slice by moving what runs: none costs less. {@link
   * PlanVerifier} searches anew. Immutable, safe to share.
   *
   * @param steps the steps that it took; the verifier gives up after as many and {@value #SPARE}
   */
  record Searched(long steps) implements Proof {
    /** The most steps of a proof that is taken. */
    public static final long MOST = 1L << 32;

    /** Steps that the verifier takes beyond those given. */
    public static final long SPARE = 1_000;

    @Override
    public String toString() {
      return "search of all ways in " + steps + (steps == 1 ? " step" : " steps");
    }
  }

  /**
   * Two differently configured solves that agree; attested by whoever made the plan, and nothing
   * that {@link PlanVerifier} could recompute. Immutable, safe to share.
   *
   * @param first the name of the first
   * @param second the name of the second
   */
  record Agreement(String first, String second) implements Proof {
    /** Checks for null. */
    public Agreement {
      Objects.requireNonNull(first, "first");
      Objects.requireNonNull(second, "second");
    }

    @Override
    public String toString() {
      return "agreement of " + first + " and " + second;
    }
  }
}
