package dev.slicewright;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

class SharedWordsTest {

  @Test
  void budgetsListEveryProblem() {
    InvalidInputException e =
        catchThrowableOfType(
            InvalidInputException.class,
            () ->
                SolveBudget.builder()
                    .deadline(Duration.ZERO)
                    .gapTarget(Double.NaN)
                    .workers(65)
                    .build());
    assertThat(e.problems())
        .extracting(Problem::path)
        .containsExactly("deadline", "gapTarget", "workers");
    assertThat(e.problems().get(0).message()).contains("expected", "PT0S", "CancelToken");
    assertThat(e.problems().get(1).message()).contains("0.0 to 1.0", "NaN");
    assertThat(e.problems().get(2).message()).contains("1 to 64", "65");
    assertThatThrownBy(() -> SolveBudget.builder().workers(2).build())
        .hasMessageContaining("REPRODUCIBLE_PARALLEL");
    assertThatThrownBy(() -> SolveBudget.within(Duration.ofHours(24).plusNanos(1)))
        .isInstanceOf(InvalidInputException.class);
    assertThatThrownBy(() -> SolveBudget.within(Duration.ofNanos(-1)))
        .isInstanceOf(InvalidInputException.class);
  }

  @Test
  void budgetsAtTheirLimitsRoundTrip() {
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(SolveBudget.MAX_DEADLINE)
            .gapTarget(1.0)
            .workers(SolveBudget.MAX_WORKERS)
            .seed(Long.MIN_VALUE)
            .mode(SolveBudget.Mode.FAST)
            .build();
    assertThat(budget.toBuilder().build()).isEqualTo(budget).hasSameHashCodeAs(budget);
    assertThat(budget.toBuilder().seed(2).build()).isNotEqualTo(budget);
    assertThat(SolveBudget.builder().gapTarget(-0.0).build())
        .isEqualTo(SolveBudget.builder().build());
    assertThat(SolveBudget.within(Duration.ofNanos(1)).deadline()).isEqualTo(Duration.ofNanos(1));
    assertThat(SolveBudget.builder().build().deadline()).isEqualTo(SolveBudget.DEFAULT_DEADLINE);
  }

  @Test
  void sliceIdsAreOrderedAndChecked() {
    assertThat(
            List.of(new SliceId("b", 0), new SliceId("a", 10), new SliceId("a", 2)).stream()
                .sorted()
                .map(SliceId::toString))
        .containsExactly("a/2", "a/10", "b/0");
    InvalidInputException e =
        catchThrowableOfType(InvalidInputException.class, () -> new SliceId("", -1));
    assertThat(e.problems()).extracting(Problem::path).containsExactly("request", "index");
  }

  @Test
  void problemsAreKeptUpToALimitAndCountedBeyond() {
    Problems problems = new Problems();
    problems.throwIfAny("nothing");
    for (int i = 0; i < Problems.MAX_KEPT + 7; i++) {
      problems.add("items[" + i + "]", "wrong");
    }
    InvalidInputException e =
        catchThrowableOfType(InvalidInputException.class, () -> problems.throwIfAny("list"));
    assertThat(e.problems()).hasSize(Problems.MAX_KEPT + 1);
    assertThat(e.problems().get(Problems.MAX_KEPT).message()).contains("7 more");
    assertThat(e).hasMessageContaining("Invalid list").hasMessageContaining("items[19]");
    assertThat(e.getMessage()).doesNotContain("items[20]").contains("more in problems()");
  }

  @Test
  void nestedProblemsKeepTheirPaths() {
    Problems problems = new Problems();
    problems.addAll("a[1]", new InvalidInputException("x", "b", "wrong"));
    problems.addAll("a[2]", new InvalidInputException("x", "", "wrong"));
    problems.addAll("", new InvalidInputException("x", "c", "wrong"));
    assertThat(problems.list()).extracting(Problem::path).containsExactly("a[1].b", "a[2]", "c");
    assertThat(problems.isEmpty()).isFalse();
  }
}
