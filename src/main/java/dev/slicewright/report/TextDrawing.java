package dev.slicewright.report;

import dev.slicewright.fleet.Hold;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** Draws a {@link Scene} as text of at most about {@value #WIDTH} columns. */
final class TextDrawing {

  private static final int WIDTH = 100;
  private static final int MOST_LINKS = 12;
  private static final int MOST_NAME = 14;

  private final Scene scene;
  private final StringBuilder out = new StringBuilder();

  private TextDrawing(Scene scene) {
    this.scene = scene;
  }

  static String draw(Scene scene) {
    TextDrawing drawing = new TextDrawing(scene);
    drawing.line(Words.oneLine(scene.pod.id()) + ": " + scene.kind());
    for (Scene.Frame frame : scene.frames) {
      drawing.frame(frame);
    }
    drawing.legend();
    return drawing.out.toString();
  }

  private void line(String text) {
    out.append(text.stripTrailing()).append('\n');
  }

  private void frame(Scene.Frame frame) {
    line((frame.title().isEmpty() ? "" : frame.title() + ": ") + scene.counts(frame));
    if (!scene.topology.isOptical()) {
      boolean single = scene.layers.size() == 1;
      List<List<String>> blocks = new ArrayList<>();
      for (Scene.Layer layer : scene.layers) {
        List<String> block = new ArrayList<>();
        if (!layer.title().isEmpty()) {
          block.add(layer.title());
        }
        block.addAll(panel(frame, layer.panels().get(0), single ? " " : ""));
        blocks.add(block);
      }
      beside(blocks, 2);
      return;
    }
    List<List<String>> maps = new ArrayList<>();
    List<List<String>> details = new ArrayList<>();
    for (Scene.Layer layer : scene.layers) {
      char[][] map = new char[layer.rows()][layer.cols()];
      for (char[] row : map) {
        java.util.Arrays.fill(row, ' ');
      }
      String[] heads = new String[layer.rows()];
      java.util.Arrays.fill(heads, "");
      for (Scene.Panel panel : layer.panels()) {
        char sign = cubeSign(frame, panel);
        map[panel.gridY()][panel.gridX()] = sign;
        if (panel.gridX() == 0) {
          heads[panel.gridY()] = Words.shorten(Words.oneLine(panel.name()), MOST_NAME);
        }
        if (sign == '#') {
          List<String> block = new ArrayList<>();
          String mark =
              scene.isLinkBroken(panel.cube())
                  ? " x"
                  : scene.isCubeDegraded(panel.cube()) ? " ~" : "";
          block.add(Words.shorten(Words.oneLine(panel.name()), MOST_NAME) + mark);
          block.addAll(panel(frame, panel, ""));
          details.add(block);
        }
      }
      List<String> block = new ArrayList<>();
      if (!layer.title().isEmpty()) {
        block.add(layer.title());
      }
      int width = 0;
      for (String head : heads) {
        width = Math.max(width, head.length());
      }
      for (int y = 0; y < heads.length; y++) {
        block.add(Words.padLeft(heads[y], width) + " " + new String(map[y]));
      }
      maps.add(block);
    }
    beside(maps, 2);
    if (!details.isEmpty()) {
      line("cubes shown above as #, with their hosts:");
      beside(details, 2);
    }
  }

  /** One sign for a cube whose hosts are all alike, else {@code #}. */
  private char cubeSign(Scene.Frame frame, Scene.Panel panel) {
    char sign = scene.sign(frame, panel.dots()[0]);
    for (int cell : panel.dots()) {
      if (scene.sign(frame, cell) != sign
          || frame.owner()[cell] != frame.owner()[panel.dots()[0]]) {
        return '#';
      }
    }
    if (sign == '.') {
      return scene.isLinkBroken(panel.cube())
          ? 'x'
          : scene.isCubeDegraded(panel.cube()) ? '~' : '.';
    }
    return sign;
  }

  private List<String> panel(Scene.Frame frame, Scene.Panel panel, String between) {
    List<String> rows = new ArrayList<>();
    for (int y = 0; y < panel.rows(); y++) {
      StringBuilder row = new StringBuilder();
      for (int x = 0; x < panel.cols(); x++) {
        row.append(x > 0 ? between : "");
        int cell = panel.dot(x, y);
        row.append(cell < 0 ? ' ' : scene.sign(frame, cell));
      }
      rows.add(row.toString());
    }
    return rows;
  }

  /** Writes blocks side by side, in as many rows as the width asks for. */
  private void beside(List<List<String>> blocks, int gap) {
    int width = 0;
    for (List<String> block : blocks) {
      for (String row : block) {
        width = Math.max(width, row.length());
      }
    }
    int perRow = Math.max(1, (WIDTH + gap) / (width + gap));
    for (int from = 0; from < blocks.size(); from += perRow) {
      List<List<String>> row = blocks.subList(from, Math.min(blocks.size(), from + perRow));
      int height = row.stream().mapToInt(List::size).max().orElse(0);
      for (int i = 0; i < height; i++) {
        StringBuilder text = new StringBuilder();
        for (List<String> block : row) {
          text.append(Words.pad(i < block.size() ? block.get(i) : "", width))
              .append(" ".repeat(gap));
        }
        line(text.toString());
      }
      if (from + perRow < blocks.size() && height > 1) {
        line("");
      }
    }
    line("");
  }

  private void legend() {
    TreeMap<Character, Integer> uses = new TreeMap<>();
    scene.slices.forEach(s -> uses.merge(s.letter(), 1, Integer::sum));
    List<List<String>> entries = new ArrayList<>();
    for (Scene.Slice slice : scene.slices) {
      StringBuilder text = new StringBuilder();
      text.append(slice.letter())
          .append(' ')
          .append(Words.shorten(Words.oneLine(slice.id().toString()), 32))
          .append(' ')
          .append(slice.shape());
      if (uses.getOrDefault(slice.letter(), 0) > 1) {
        text.append(' ').append(Words.shorten(Words.oneLine(slice.where()), 20));
      }
      if (slice.fate() != Scene.Fate.STAYS) {
        text.append(' ').append(slice.fate().word);
      }
      if (slice.leaving()) {
        text.append(" leaving");
      }
      entries.add(List.of(text.toString()));
    }
    if (!entries.isEmpty()) {
      beside(entries, 3);
    }
    StringBuilder signs = new StringBuilder(". free");
    String[][] known = {
      {"X", "failed"},
      {"!", "failed under a slice"},
      {"~", "degraded"},
      {"=", "cordoned"},
      {"+", "held"},
      {"x", "link failed: no whole cube"}
    };
    for (String[] sign : known) {
      if (scene.shows(sign[0].charAt(0))) {
        signs.append("   ").append(sign[0]).append(' ').append(sign[1]);
      }
    }
    line(signs.toString());
    signs.setLength(0);
    signs.append(
        scene.dotsAreHosts
            ? "one sign is a host of " + Words.plural(scene.topology.hostTile().chips(), "chip")
            : "one sign is " + Words.plural(scene.topology.cellTile().chips(), "chip"));
    if (scene.topology.isOptical()) {
      signs.append(" (in the map of cubes, a cube; a row is headed by its first)");
    }
    line(signs.toString());
    List<Hold> holds = scene.frames.get(scene.frames.size() - 1).holds();
    for (Hold hold : holds) {
      line(
          "hold "
              + Words.oneLine(hold.id())
              + " for "
              + Words.oneLine(hold.request())
              + " until "
              + hold.expiry());
    }
    List<String> links = scene.links();
    if (!links.isEmpty()) {
      int shown = Math.min(MOST_LINKS, links.size());
      line(
          "links: "
              + String.join("; ", links.subList(0, shown))
              + (shown < links.size() ? "; and " + (links.size() - shown) + " more" : ""));
    }
  }
}
