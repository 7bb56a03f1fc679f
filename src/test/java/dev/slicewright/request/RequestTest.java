package dev.slicewright.request;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.PlanningRules.Reserved;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RequestTest {

  @Test
  void everyProblemOfARequestIsListed() {
    InvalidInputException e =
        catchThrowableOfType(
            InvalidInputException.class,
            () ->
                SliceRequest.builder("")
                    .shape("4x4x8")
                    .shape("0x4")
                    .shape("8x4x4")
                    .chips(0)
                    .slices(0)
                    .accelerators("v5p", "")
                    .requireLabel("zone", "a")
                    .requireLabel("zone", "b")
                    .forbidLabel("zone", "a")
                    .build());
    assertThat(e.problems())
        .extracting(Problem::path)
        .containsExactly(
            "id",
            "shapes[1]",
            "shapes[2]",
            "shapes",
            "chips",
            "slices",
            "accelerators[0]",
            "requiredLabels",
            "forbiddenLabels");
    assertThat(e.problems()).extracting(Problem::message).allMatch(m -> m.contains("but"));
    assertThat(e.problems().get(1).message()).contains("from 1 to", "0x4");
    assertThat(e.problems().get(5).message()).contains("1 to 100000", "was 0");
    assertThatThrownBy(() -> SliceRequest.builder("a").build())
        .hasMessageContaining("shapes: expected a shape");
    assertThatThrownBy(() -> SliceRequest.builder("x".repeat(254)).chips(1).build())
        .hasMessageContaining("had 254");
    assertThatThrownBy(() -> SliceRequest.builder("a").chips(1).slices(100_001).build())
        .hasMessageContaining("100001");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "4",
        "4x",
        "x4",
        "0x4",
        "-4x4",
        "4x4x4x4",
        "4 x4",
        "4x4.5",
        "4x٤",
        "99999999x4",
        "65537x1",
        "4*4",
        "four"
      })
  void malformedShapesAreProblemsWithTheTextGiven(String text) {
    InvalidInputException e =
        catchThrowableOfType(
            InvalidInputException.class, () -> SliceRequest.builder("a").shape(text).build());
    assertThat(e.problems()).hasSize(1);
    assertThat(e.problems().get(0).path()).isEqualTo("shapes[0]");
    assertThat(e.problems().get(0).message()).contains("\"" + text + "\"");
  }

  @Test
  void overlongShapesAreCutInTheMessage() {
    assertThatThrownBy(() -> SliceRequest.builder("a").shape("4x".repeat(1000)).build())
        .hasMessageContaining("…")
        .satisfies(e -> assertThat(e.getMessage().length()).isLessThan(300));
  }

  @Test
  void requestsRoundTripThroughTheirBuilder() {
    SliceRequest request =
        SliceRequest.builder("train")
            .shape("4x4x8")
            .shape(Shape.of(4, 4, 4))
            .accelerators("V5P", "v4", "v5p")
            .slices(100_000)
            .mayTurn(false)
            .interconnect(Interconnect.values()[1])
            .healthyOnly(true)
            .priority(Long.MIN_VALUE)
            .tenant("t")
            .requireLabel("zone", "a")
            .forbidLabel("rack", "2")
            .forbidLabel("rack", "1")
            .pod("p")
            .gang("g")
            .spread(Spread.atMost(2, "rack"))
            .build();
    assertThat(request.toBuilder().build()).isEqualTo(request).hasSameHashCodeAs(request);
    assertThat(request.accelerators()).containsExactly("v4", "v5p");
    assertThat(request.requiredLabels()).isEqualTo(Map.of("zone", "a"));
    assertThat(request.forbiddenLabels()).isEqualTo(Map.of("rack", Set.of("1", "2")));
    assertThat(request.forbiddenLabels().get("rack")).containsExactly("1", "2");
    assertThat(request.pod()).contains("p");
    assertThat(request.gang()).contains("g");
    assertThat(request.toBuilder().priority(Long.MAX_VALUE).build().priority())
        .isEqualTo(Long.MAX_VALUE);
    List<SliceRequest> others =
        List.of(
            request.toBuilder().shape("2x2x1").build(),
            request.toBuilder().accelerators().build(),
            request.toBuilder().slices(1).build(),
            request.toBuilder().mayTurn(true).build(),
            request.toBuilder().interconnect(Interconnect.ANY).build(),
            request.toBuilder().healthyOnly(false).build(),
            request.toBuilder().priority(0).build(),
            request.toBuilder().tenant("").build(),
            request.toBuilder().requireLabel("a", "b").build(),
            request.toBuilder().forbidLabel("rack", "3").build(),
            request.toBuilder().pod("").build(),
            request.toBuilder().gang("").build(),
            request.toBuilder().spread(Spread.samePod()).build());
    assertThat(others).doesNotContain(request).doesNotHaveDuplicates();
    SliceRequest chips = SliceRequest.builder("c").chips(1L << 40).build();
    assertThat(chips.toBuilder().build()).isEqualTo(chips);
    assertThat(chips.pod()).isEmpty();
    assertThat(chips.gang()).isEmpty();
  }

  @Test
  void manyForbiddenValuesAreAsOneAfterAnother() {
    SliceRequest.Builder builder = SliceRequest.builder("a").shape("4x8");
    SliceRequest one =
        builder.forbidLabel("rack", "2").forbidLabel("rack", "1").forbidLabel("zone", "z").build();
    SliceRequest many =
        SliceRequest.builder("a")
            .shape("4x8")
            .forbidLabels("rack", List.of("1", "2", "1"))
            .forbidLabels("zone", Set.of("z"))
            .forbidLabels("nothing", List.of())
            .build();
    assertThat(many).isEqualTo(one);
    assertThat(many.forbiddenLabels()).doesNotContainKey("nothing");
    assertThatThrownBy(() -> builder.forbidLabels("a", Collections.singleton(null)))
        .isInstanceOf(NullPointerException.class);
  }

  @Test
  void textAndShapeAreTheSameAndBuiltRequestsDoNotChange() {
    SliceRequest.Builder builder = SliceRequest.builder("a").shape("4x8");
    SliceRequest request = builder.build();
    builder.shape("8x8").priority(3).forbidLabel("x", "y");
    assertThat(request).isEqualTo(SliceRequest.builder("a").shape(Shape.of(4, 8)).build());
    assertThat(builder.build().shapes()).hasSize(2);
    assertThat(SliceRequest.builder("a").shape("4x8").shape("8x4").mayTurn(false).build().shapes())
        .hasSize(2);
    assertThatThrownBy(() -> request.shapes().add(Shape.of(1, 1)))
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> request.forbiddenLabels().put("a", Set.of()))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void spreadsAreChecked() {
    assertThatThrownBy(() -> Spread.atMost(0, "rack"))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("1 or more")
        .hasMessageContaining("was 0");
    assertThatThrownBy(() -> new Spread(Spread.Kind.SAME_POD, 1, ""))
        .isInstanceOf(InvalidInputException.class);
    assertThatThrownBy(() -> new Spread(Spread.Kind.ANY, 0, "rack"))
        .isInstanceOf(InvalidInputException.class);
    assertThat(Spread.atMost(1, "")).isEqualTo(new Spread(Spread.Kind.AT_MOST, 1, ""));
    assertThat(Spread.differentPods().kind()).isEqualTo(Spread.Kind.DIFFERENT_PODS);
  }

  @Test
  void everyProblemOfTheRulesIsListed() {
    InvalidInputException e =
        catchThrowableOfType(
            InvalidInputException.class,
            () ->
                PlanningRules.builder()
                    .quota("t", -1)
                    .quota(new Quota("t", "V5P", 1))
                    .quota(new Quota("t", "v5p", 2))
                    .reserve(new Reserved("t", Map.of(), -2))
                    .disruption(new DisruptionBudget(-1, -2, -3))
                    .permitByDefault(new Permission(false, false, true))
                    .permit("r", new Permission(false, true, true))
                    .build());
    assertThat(e.problems())
        .extracting(Problem::path)
        .containsExactly(
            "quotas[0].chips",
            "quotas[2]",
            "reserved[0].chips",
            "disruption.slices",
            "disruption.chipSeconds",
            "disruption.tenants",
            "defaultPermission",
            "permissions.r");
    assertThat(e.problems()).extracting(Problem::message).allMatch(m -> m.contains("expected"));
  }

  @Test
  void rulesRoundTripAndKeepTheirOrder() {
    PlanningRules rules =
        PlanningRules.builder()
            .quota("t", 0)
            .quota(new Quota("t", "v5p", Long.MAX_VALUE))
            .reserve(new Reserved("t", Map.of("zone", "a"), 64))
            .disruption(new DisruptionBudget(0, 0, 0))
            .permitByDefault(Permission.EVICTABLE)
            .permit("b", Permission.ANY)
            .permit("a", new Permission(true, false, true))
            .now(Instant.MAX)
            .build();
    assertThat(rules.toBuilder().build()).isEqualTo(rules).hasSameHashCodeAs(rules);
    assertThat(rules.permissions().keySet()).containsExactly("a", "b");
    assertThat(rules.permission("b")).isEqualTo(Permission.ANY);
    assertThat(rules.permission("c")).isEqualTo(Permission.EVICTABLE);
    assertThat(rules.toBuilder().permit("c", Permission.PINNED).build()).isNotEqualTo(rules);
    assertThat(PlanningRules.NONE.permission("x")).isEqualTo(Permission.PINNED);
    assertThat(PlanningRules.NONE.now()).isEqualTo(Instant.EPOCH);
    assertThat(PlanningRules.NONE.disruption()).isEqualTo(DisruptionBudget.UNLIMITED);
    assertThatThrownBy(() -> rules.quotas().clear())
        .isInstanceOf(UnsupportedOperationException.class);
  }
}
