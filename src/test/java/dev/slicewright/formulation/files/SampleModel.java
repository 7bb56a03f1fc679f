package dev.slicewright.formulation.files;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.List;

/**
 * The model that the files under {@code sol/} are solutions of: two pods of four cells, a wanted
 * pair that must share shape and pod, a lone item, and a running pair that may move or leave.
 */
final class SampleModel {

  static final long OPTIMUM = 20;

  private SampleModel() {}

  static PlacementModel model() {
    PlacementModel.Builder b =
        PlacementModel.builder(8, List.of(new Level("chips", true), new Level("lost", false)));
    int quota = b.row(new Row("quota of team a", 12));
    int touched = b.row(new Row("tenants touched", 1));
    int seconds = b.row(new Row("seconds lost", 60));
    int pair =
        b.group(
            new Group(
                "train",
                -1,
                false,
                false,
                true,
                true,
                false,
                0,
                new long[0],
                new long[0],
                List.of()));
    for (int s = 0; s < 2; s++) {
      int item = b.item(new Item("train/" + s, pair));
      for (int pod = 0; pod < 2; pod++) {
        for (int at = 0; at < 4; at++) {
          place(b, item, pod, at, 1, 4, 0, false, List.of());
        }
        for (int at = 0; at < 4; at += 2) {
          place(b, item, pod, at, 2, 8, 1, false, List.of());
        }
      }
    }
    int lone = b.item(new Item("eval", b.group(Group.wanted("eval"))));
    place(b, lone, 0, 0, 1, 4, 0, false, List.of(new Term(quota, 4)));
    place(b, lone, 1, 3, 1, 4, 0, false, List.of(new Term(quota, 4)));
    int runs =
        b.group(
            new Group(
                "old job",
                -1,
                false,
                true,
                true,
                false,
                true,
                0,
                new long[] {0, 30},
                new long[] {0, 30},
                List.of(new Term(seconds, 30))));
    for (int s = 0; s < 2; s++) {
      int item = b.item(new Item("old job/" + s, runs));
      place(b, item, s, 2 * s, 1, 4, 0, false, List.of(new Term(quota, 4)));
      place(b, item, s, 1 + s, 1, 4, 0, true, List.of(new Term(quota, 4)));
    }
    b.union(new Union("tenant a", new int[] {runs}, List.of(new Term(touched, 1))));
    return b.build();
  }

  private static void place(
      PlacementModel.Builder b,
      int item,
      int pod,
      int at,
      int size,
      long gain,
      int shape,
      boolean moves,
      List<Term> terms) {
    int[] cells = new int[size];
    for (int i = 0; i < size; i++) {
      cells[i] = 4 * pod + at + i;
    }
    b.candidate(
        new Candidate(
            item,
            cells,
            new long[] {gain, 0},
            terms,
            shape,
            pod,
            pod,
            moves,
            new GridPlace(at, 0, 0, size, 1, 1)));
  }
}
