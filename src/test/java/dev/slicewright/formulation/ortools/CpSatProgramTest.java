package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class CpSatProgramTest {

  @BeforeAll
  static void natives() {
    assertThat(CpSatFormulation.availability()).isEmpty();
  }

  private static PlacementModel.Builder builder(int cells) {
    return PlacementModel.builder(cells, List.of(new Level("value", true)));
  }

  private static CpSatProgram program(PlacementModel model) {
    return new CpSatProgram(model, ItemClasses.of(model), 0, new long[0]);
  }

  private static void candidate(PlacementModel.Builder b, int item, long gain, int... cells) {
    b.candidate(new Candidate(item, cells, new long[] {gain}, List.of(), 0, 0, 0, false, null));
  }

  private static int item(PlacementModel.Builder b, Group group) {
    return b.item(new Item("item", b.group(group)));
  }

  @Test
  void equalItemsShareVariablesWhateverTheOrderOfTheirCandidates() {
    PlacementModel.Builder b = builder(4);
    for (int i = 0; i < 10; i++) {
      int item = item(b, Group.wanted("g" + i));
      for (int k = 0; k < 3; k++) {
        int cell = (i + k) % 3;
        candidate(b, item, 4, cell, cell + 1);
      }
      candidate(b, item, 4, i % 3, i % 3 + 1); // one of them twice
    }
    PlacementModel model = b.build();
    assertThat(ItemClasses.of(model).all()).hasSize(1);
    assertThat(program(model).variables()).isEqualTo(3);
  }

  @Test
  void poolCandidatesAreCounted() {
    PlacementModel.Builder b = builder(0);
    b.row(new Row("pool", 7));
    for (int i = 0; i < 9; i++) {
      int item = item(b, Group.wanted("g"));
      b.candidate(
          new Candidate(
              item, new int[0], new long[] {128}, List.of(new Term(0, 2)), 0, 0, 0, false, null));
    }
    CpSatProgram program = program(b.build());
    assertThat(program.variables()).isEqualTo(1);
    assertThat(program.dump()).contains("domain: 9");
    // Twice x <= 7 is x <= 3, and 128 x is x.
    assertThat(program.dump()).contains("coeffs: -1").doesNotContain("128").contains("domain: 3");
    assertThat(program.boundOfLevel(-3)).isEqualTo(384);
  }

  @Test
  void itemsOfOneGroupShareVariablesToo() {
    PlacementModel.Builder b = builder(6);
    int group =
        b.group(
            new Group(
                "multislice",
                -1,
                false,
                false,
                true,
                false,
                false,
                0,
                new long[0],
                new long[0],
                List.of()));
    for (int i = 0; i < 3; i++) {
      int item = b.item(new Item("slice" + i, group));
      for (int cell = 0; cell < 6; cell++) {
        candidate(b, item, 4, cell);
      }
    }
    assertThat(program(b.build()).variables()).as("six ways and one absence").isEqualTo(7);
  }

  @Test
  void groupsOfAUnionAreKeptApart() {
    PlacementModel.Builder b = builder(2);
    b.row(new Row("r", 0));
    for (int i = 0; i < 2; i++) {
      candidate(b, item(b, Group.wanted("g")), 4, 0);
    }
    b.union(new Union("u", new int[] {0}, List.of(new Term(0, 1))));
    assertThat(ItemClasses.of(b.build()).all()).hasSize(2);
  }

  @Test
  void impliedCellRowsAreDropped() {
    PlacementModel.Builder b = builder(8);
    int first = item(b, Group.wanted("a"));
    candidate(b, first, 1, 0, 1, 2);
    candidate(b, first, 1, 2, 3, 4);
    int second = item(b, Group.wanted("b"));
    candidate(b, second, 3, 0, 1, 2, 3);
    candidate(b, second, 5, 5, 6);
    // Cells 0 and 1 have equal rows, both within that of cell 2, as is that of cell 3; the rows of
    // cells 4 to 7 have one way or none.
    CpSatProgram program = program(b.build());
    assertThat(program.droppedCellRows()).isEqualTo(3);
    assertThat(program.dump().split("at_most_one", -1)).as("two items, one cell").hasSize(4);
  }

  @Test
  void onlyWarmStartsThatAreSolutionsAreComplete() {
    PlacementModel.Builder b = builder(1);
    for (int i = 0; i < 2; i++) {
      candidate(b, item(b, Group.wanted("g")), 4 + i, 0);
    }
    PlacementModel model = b.build();
    assertThat(program(model).addHint(new int[] {0, -1})).isTrue();
    assertThat(program(model).addHint(new int[] {-1, 1})).isTrue();
    assertThat(program(model).addHint(new int[] {0, 1})).isFalse();
    assertThat(program(model).addHint(new int[] {1, 0})).isFalse();
    assertThat(program(model).addHint(new int[] {-7, 99})).isFalse();
    assertThat(program(model).addHint(new int[] {0})).isFalse();
    assertThat(program(model).addHint(new int[] {-1, -1})).as("places nothing").isFalse();
  }
}
