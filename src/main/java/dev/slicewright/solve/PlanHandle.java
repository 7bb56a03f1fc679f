package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.plan.Plan;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A solve that runs on a thread of its own. Safe for concurrent use. */
public final class PlanHandle {

  private final CancelToken token;
  private final CompletableFuture<Plan> result = new CompletableFuture<>();
  private final AtomicReference<@Nullable Plan> best = new AtomicReference<>();

  PlanHandle(CancelToken token) {
    this.token = token;
  }

  /**
   * Asks the solve to come back with what it has; idempotent, from any thread, also before it has
   * begun. The result then says {@code CANCELLED}, unless it was complete already.
   */
  public void cancel() {
    token.cancel();
  }

  /**
   * The best verified plan so far; when the solve is done, its result.
   *
   * @return the plan; empty before the first improving plan is verified, which may be only when the
   *     solve is done, and after a failure without one
   */
  public Optional<Plan> best() {
    return Optional.ofNullable(best.get());
  }

  /**
   * The plan when it is done.
   *
   * @return completes with the plan; exceptionally only for bad data
   */
  public CompletionStage<Plan> result() {
    return result.minimalCompletionStage();
  }

  /**
   * Waits for the plan.
   *
   * @return the plan
   * @throws dev.slicewright.InvalidInputException for bad data
   * @throws java.util.concurrent.CompletionException if the solve failed for another reason
   */
  public Plan join() {
    try {
      return result.join();
    } catch (java.util.concurrent.CompletionException e) {
      if (e.getCause() instanceof dev.slicewright.InvalidInputException bad) {
        throw bad;
      }
      throw e;
    }
  }

  void improved(Plan plan) {
    best.set(plan);
  }

  void done(Plan plan) {
    best.set(plan);
    result.complete(plan);
  }

  void failed(Throwable cause) {
    result.completeExceptionally(cause);
  }
}
