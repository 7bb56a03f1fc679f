package dev.slicewright.solve;

import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.ProcessFormulation;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import java.lang.System.Logger;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Asks formulations, trusting none of them: one that cannot take the model, throws or answers
 * nothing is reported in a note; one that is still at work when time is up is left behind on its
 * own daemon thread. Our own ends in time by itself and runs on the caller's thread. Confined to
 * one thread at a time.
 */
final class Asker {

  private static final Logger LOG = System.getLogger(Asker.class.getName());

  /** How long a cancelled formulation has to come back. */
  private static final long CANCEL_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

  private static final long LOOK_EVERY_MILLIS = 2;

  private final Stop stop;
  private final Stop hardStop;
  private final Consumer<String> notes;

  Asker(Stop stop, Stop hardStop, Consumer<String> notes) {
    this.stop = stop;
    this.hardStop = hardStop;
    this.notes = notes;
  }

  /** Whether it is our own CP-SAT, here or in a process: it has a second setting. */
  static boolean isCpSat(Formulation formulation) {
    return formulation instanceof CpSatFormulation
        || formulation instanceof ProcessFormulation outside
            && outside.type().equals(CpSatFormulation.class.getName());
  }

  /** The answer, or null if there is none; why is in a note. */
  @Nullable FormulationResult ask(
      Formulation formulation, PlacementModel model, FormulationTask task) {
    String name = formulation.name();
    Supplier<@Nullable FormulationResult> question = () -> solve(formulation, model, task);
    AtomicReference<@Nullable FormulationResult> answer = new AtomicReference<>();
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    if (formulation instanceof CpSatFormulation || formulation instanceof ProcessFormulation) {
      run(question, answer, failure);
    } else {
      CountDownLatch done = new CountDownLatch(1);
      Thread thread =
          new Thread(
              () -> {
                run(question, answer, failure);
                done.countDown();
              },
              "slicewright-" + name);
      thread.setDaemon(true);
      thread.start();
      if (!await(done)) {
        thread.interrupt(); // it may be asleep
        notes.accept(name + " did not come back in time and was left behind.");
        return null;
      }
    }
    Throwable thrown = failure.get();
    if (thrown instanceof Declined) {
      notes.accept(name + " was not used: " + thrown.getMessage());
    } else if (thrown instanceof SolverUnavailableException) {
      notes.accept(name + " cannot run here: " + thrown.getMessage());
    } else if (thrown != null) {
      LOG.log(Logger.Level.WARNING, "Formulation " + name + " failed", thrown);
      notes.accept(name + " failed: " + thrown + ".");
    } else if (answer.get() == null) {
      notes.accept(name + " failed: it gave no answer.");
    }
    return answer.get();
  }

  private static void run(
      Supplier<@Nullable FormulationResult> question,
      AtomicReference<@Nullable FormulationResult> answer,
      AtomicReference<@Nullable Throwable> failure) {
    try {
      answer.set(question.get());
    } catch (VirtualMachineError e) {
      failure.set(e);
      if (!(e instanceof StackOverflowError)) {
        throw e;
      }
    } catch (Throwable e) { // nothing of a foreign formulation may end the solve
      failure.set(e);
    }
  }

  private static @Nullable FormulationResult solve(
      Formulation formulation, PlacementModel model, FormulationTask task) {
    String lacking = lacking(model, formulation.capabilities());
    if (!lacking.isEmpty()) {
      throw new Declined(lacking);
    }
    String no = formulation.whyNot(model, task).orElse("");
    if (!no.isEmpty()) {
      throw new Declined(no);
    }
    return formulation.solve(model, task);
  }

  /** Why it declined. */
  private static final class Declined extends RuntimeException {
    private static final long serialVersionUID = 1;

    Declined(String why) {
      super(why, null, false, false);
    }
  }

  private boolean await(CountDownLatch done) {
    boolean interrupted = false;
    long giveUp = stop.deadlineNanos() + (hardStop.deadlineNanos() - stop.deadlineNanos()) / 4;
    boolean stopping = false;
    try {
      while (true) {
        long now = System.nanoTime();
        if (!stopping && (interrupted || stop.isCancelled())) {
          stopping = true;
          giveUp = Math.min(giveUp - now, CANCEL_GRACE_NANOS) + now;
        }
        if (giveUp - now <= 0) {
          return done.getCount() == 0;
        }
        try {
          long millis = TimeUnit.NANOSECONDS.toMillis(giveUp - now) + 1;
          if (done.await(Math.min(millis, LOOK_EVERY_MILLIS), TimeUnit.MILLISECONDS)) {
            return true;
          }
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /** What a model needs that a formulation does not declare, or an empty string. */
  private static String lacking(PlacementModel model, Set<Capability> can) {
    boolean rows = !model.unions().isEmpty();
    boolean ties = false;
    boolean placed = true;
    for (Candidate candidate : model.candidates()) {
      rows |= !candidate.terms().isEmpty();
      placed &= candidate.grid() != null;
    }
    int[] size = new int[model.groups().size()];
    model.items().forEach(item -> size[item.group()]++);
    for (int g = 0; g < size.length; g++) {
      Group group = model.groups().get(g);
      rows |= !group.disturbedTerms().isEmpty();
      ties |=
          group.gang() >= 0
              || size[g] > 1
                  && (group.sameShape()
                      || group.samePod()
                      || group.differentPods()
                      || group.maxPerDomain() > 0);
    }
    if (can.contains(Capability.NEEDS_GRID) && !placed) {
      return "It needs a grid place of every candidate, which this model does not have.";
    }
    if (rows && !can.contains(Capability.SIDE_ROWS)) {
      return "This model has side rows, which it does not understand.";
    }
    if (ties && !can.contains(Capability.GROUP_TIES)) {
      return "This model ties slices together, which it does not understand.";
    }
    return "";
  }
}
