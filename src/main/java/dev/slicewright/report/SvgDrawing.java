package dev.slicewright.report;

import dev.slicewright.fleet.Hold;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * Draws a {@link Scene} as SVG, with presentation attributes only, so that it can stand alone or
 * inside a page.
 *
 * <p>Eight tints of the palette of Okabe and Ito ("Color Universal Design", 2008), which
 * colour-blind people can tell apart, under dark text, and six hatches, so that 48 neighbours
 * differ even in print; every region also has its letter.
 */
final class SvgDrawing {

  private static final String[] TINTS = {
    "#9CCBEE", "#F5C26B", "#8FD3B6", "#F0B39A", "#E5BEDA", "#F4EC9A", "#A9B8E8", "#D2C6B2"
  };
  private static final String[] DEEP = {
    "#0B5A8F", "#8A5600", "#00664B", "#9A3B00", "#8A3F6E", "#7A7000", "#2E3F9E", "#5E4F36"
  };
  private static final int HATCHES = 6;
  private static final String INK = "#1B1F24";
  private static final String GREY = "#57606A";
  private static final String RED = "#A40E26";
  private static final int MARGIN = 20;
  private static final int FRAME_GAP = 36;
  private static final int LEGEND_LINE = 20;

  private final Scene scene;
  private final StringBuilder out = new StringBuilder();
  private final String ids;
  private final int dot;
  private final int cubeGap;
  private final int nameHeight;
  private final int layersPerRow;
  private final int layerWidth;
  private final int layerHeight;
  private final int titleHeight;

  private SvgDrawing(Scene scene) {
    this.scene = scene;
    this.ids =
        "sw" + Integer.toHexString(scene.pod.id().hashCode()) + "f" + scene.frames.size() + "-";
    Scene.Layer layer = scene.layers.get(0);
    Scene.Panel panel = layer.panels().get(0);
    boolean optical = scene.topology.isOptical();
    int edge = scene.topology.cubeCount() <= 12 ? 88 : scene.topology.cubeCount() <= 40 ? 64 : 44;
    this.dot =
        optical
            ? Math.max(6, edge / panel.cols())
            : scene.layers.size() > 1
                ? 14
                : Math.max(12, Math.min(34, 380 / Math.max(panel.cols(), panel.rows())));
    this.cubeGap = optical ? 6 : 0;
    this.nameHeight = optical ? 9 : 0;
    int panelWidth = panel.cols() * dot;
    int panelHeight = panel.rows() * dot;
    this.titleHeight = layer.title().isEmpty() ? 0 : 18;
    this.layerWidth = layer.cols() * (panelWidth + cubeGap) - cubeGap;
    this.layerHeight = layer.rows() * (nameHeight + panelHeight + cubeGap) - cubeGap + titleHeight;
    int most = Math.max(1, (900 + 18) / (layerWidth + 18));
    int rows = (scene.layers.size() + most - 1) / most;
    this.layersPerRow = (scene.layers.size() + rows - 1) / rows; // rows of like length
  }

  static String draw(Scene scene) {
    return new SvgDrawing(scene).document();
  }

  private static String escape(String text) {
    return Words.oneLine(text)
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("\"", "&quot;");
  }

  /** Roughly the width of a line of text of a size: there is no font to measure. */
  private static int textWidth(String text, double size) {
    return (int) Math.ceil(text.codePointCount(0, text.length()) * size * 0.56);
  }

  private void line(String text) {
    out.append(text).append('\n');
  }

  private void text(double x, double y, double size, String attributes, String text) {
    line(
        "<text x=\""
            + number(x)
            + "\" y=\""
            + number(y)
            + "\" font-size=\""
            + number(size)
            + "\""
            + (attributes.isEmpty() ? "" : " " + attributes)
            + ">"
            + escape(text)
            + "</text>");
  }

  /** Bold words, and after them small ones, wherever the bold ones end. */
  private void captioned(int x, int y, int size, String bold, String small) {
    String rest =
        "<tspan font-size=\"13\" font-weight=\"400\" fill=\""
            + GREY
            + "\""
            + (bold.isEmpty() ? "" : " dx=\"12\"")
            + ">"
            + escape(small)
            + "</tspan>";
    line(
        "<text x=\""
            + x
            + "\" y=\""
            + y
            + "\" font-size=\""
            + size
            + "\" font-weight=\"700\">"
            + escape(bold)
            + rest
            + "</text>");
  }

  private static String number(double value) {
    return value == Math.rint(value)
        ? Long.toString((long) value)
        : String.format(Locale.ROOT, "%.1f", value);
  }

  // ---------------------------------------------------------------- the page

  private String document() {
    int frameWidth = layersPerRow * (layerWidth + 18) - 18;
    int layerRows = (scene.layers.size() + layersPerRow - 1) / layersPerRow;
    int frameHeight = layerRows * (layerHeight + 16) - 16;
    boolean titled = scene.frames.size() > 1;
    String heading = Words.shorten(scene.pod.id(), 60);
    String kind = scene.kind();
    // A narrow pod still needs room for its captions.
    int captions = 0;
    for (Scene.Frame frame : scene.frames) {
      captions = Math.max(captions, textWidth(scene.counts(frame), 13) + (titled ? 74 : 0));
    }
    frameWidth = Math.max(frameWidth, captions);
    int width =
        Math.max(
            2 * MARGIN + scene.frames.size() * frameWidth + (scene.frames.size() - 1) * FRAME_GAP,
            2 * MARGIN + (int) (textWidth(heading, 19) * 1.25) + 16 + textWidth(kind, 13));
    List<String> notes = notes();
    width = Math.max(width, 440);
    for (String note : notes) {
      width = Math.max(width, 2 * MARGIN + textWidth(note, 12));
    }
    List<String> entries = new ArrayList<>();
    for (Scene.Slice slice : scene.slices) {
      entries.add(entry(slice));
    }
    int entryWidth = 0;
    for (String entry : entries) {
      entryWidth = Math.max(entryWidth, textWidth(entry, 12) + 44);
    }
    int columns = Math.max(1, (width - 2 * MARGIN) / Math.max(1, entryWidth));
    int legendRows = (entries.size() + columns - 1) / columns;
    int top = 84;
    int legendTop = top + frameHeight + 30;
    int signTop = legendTop + legendRows * LEGEND_LINE + (legendRows > 0 ? 8 : 0);
    int height = signTop + LEGEND_LINE + notes.size() * 18 + MARGIN - 6;
    line(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\""
            + width
            + "\" height=\""
            + height
            + "\" viewBox=\"0 0 "
            + width
            + " "
            + height
            + "\" role=\"img\" aria-labelledby=\""
            + ids
            + "title "
            + ids
            + "desc\" font-family=\"system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\""
            + " fill=\""
            + INK
            + "\">");
    line("<title id=\"" + ids + "title\">Pod " + escape(scene.pod.id()) + "</title>");
    line("<desc id=\"" + ids + "desc\">" + escape(description()) + "</desc>");
    definitions();
    line("<rect width=\"" + width + "\" height=\"" + height + "\" fill=\"#FFFFFF\"/>");
    captioned(MARGIN, 34, 19, heading, kind);
    for (int f = 0; f < scene.frames.size(); f++) {
      Scene.Frame frame = scene.frames.get(f);
      int x0 = MARGIN + f * (frameWidth + FRAME_GAP);
      String title = frame.title();
      captioned(
          x0,
          64,
          14,
          titled ? title.substring(0, 1).toUpperCase(Locale.ROOT) + title.substring(1) : "",
          scene.counts(frame));
      for (int i = 0; i < scene.layers.size(); i++) {
        layer(
            frame,
            scene.layers.get(i),
            x0 + i % layersPerRow * (layerWidth + 18),
            top + i / layersPerRow * (layerHeight + 16),
            f == scene.frames.size() - 1);
      }
    }
    int step = (width - 2 * MARGIN) / columns;
    for (int i = 0; i < entries.size(); i++) {
      // Down the columns, as one reads a list.
      swatch(
          i,
          MARGIN + i / Math.max(1, legendRows) * step,
          legendTop + i % Math.max(1, legendRows) * LEGEND_LINE,
          entries.get(i));
    }
    signs(MARGIN, signTop);
    for (int i = 0; i < notes.size(); i++) {
      text(
          MARGIN,
          signTop + LEGEND_LINE + 18 * (i + 1) - 6,
          12,
          "fill=\"" + GREY + "\"",
          notes.get(i));
    }
    line("</svg>");
    return out.toString();
  }

  private String description() {
    StringBuilder text = new StringBuilder(scene.kind());
    for (Scene.Frame frame : scene.frames) {
      text.append(". ")
          .append(frame.title().isEmpty() ? "" : frame.title() + ": ")
          .append(scene.counts(frame));
    }
    text.append(". Slices: ");
    List<String> names = new ArrayList<>();
    for (Scene.Slice slice : scene.slices) {
      names.add(entry(slice));
    }
    return text.append(names.isEmpty() ? "none" : String.join("; ", names)).append('.').toString();
  }

  private static String entry(Scene.Slice slice) {
    return Words.shorten(slice.id().toString(), 36)
        + "  "
        + slice.shape()
        + (slice.fate() == Scene.Fate.STAYS ? "" : ", " + slice.fate().word)
        + (slice.leaving() ? ", leaving" : "");
  }

  private void definitions() {
    line("<defs>");
    String[] hatches = {
      "<path d=\"M-1,1l2,-2M0,6l6,-6M5,7l2,-2\"/>",
      "<path d=\"M-1,5l2,2M0,0l6,6M5,-1l2,2\"/>",
      "<path d=\"M0,1.5h6\"/>",
      "<path d=\"M1.5,0v6\"/>",
      "<path d=\"M0,3h6M3,0v6\" stroke-width=\"0.7\"/>"
    };
    for (int i = 0; i < hatches.length; i++) {
      line(
          "<pattern id=\""
              + ids
              + "h"
              + (i + 1)
              + "\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><g stroke=\""
              + INK
              + "\" stroke-opacity=\"0.32\" stroke-width=\"1\" fill=\"none\">"
              + hatches[i]
              + "</g></pattern>");
    }
    line(
        "<pattern id=\""
            + ids
            + "cordon\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
            + "<rect width=\"5\" height=\"5\" fill=\"#E4E7EB\"/>"
            + "<path d=\"M0,1.2h5M0,3.7h5\" stroke=\"#6E7781\" stroke-width=\"0.9\"/></pattern>");
    line(
        "<pattern id=\""
            + ids
            + "hold\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
            + "<circle cx=\"1.5\" cy=\"1.5\" r=\"0.9\" fill=\"#57606A\"/>"
            + "<circle cx=\"4.5\" cy=\"4.5\" r=\"0.9\" fill=\"#57606A\"/></pattern>");
    line("</defs>");
  }

  // ---------------------------------------------------------------- layers and panels

  private void layer(Scene.Frame frame, Scene.Layer layer, int x0, int y0, boolean last) {
    line("<g transform=\"translate(" + x0 + " " + y0 + ")\">");
    if (!layer.title().isEmpty()) {
      text(0, 11, 11.5, "fill=\"" + GREY + "\"", layer.title());
    }
    for (Scene.Panel panel : layer.panels()) {
      int x = panel.gridX() * (panel.cols() * dot + cubeGap);
      int y =
          titleHeight + nameHeight + panel.gridY() * (nameHeight + panel.rows() * dot + cubeGap);
      line("<g transform=\"translate(" + x + " " + y + ")\">");
      panel(frame, panel, last);
      line("</g>");
    }
    line("</g>");
  }

  private void panel(Scene.Frame frame, Scene.Panel panel, boolean last) {
    int w = panel.cols() * dot;
    int h = panel.rows() * dot;
    if (!panel.name().isEmpty()) {
      line("<title>" + escape(panel.name() + cubeNote(panel.cube())) + "</title>");
      text(0, -2.5, 7.5, "fill=\"" + GREY + "\"", Words.shorten(panel.name(), Math.max(2, w / 5)));
    }
    int[] region = new int[panel.dots().length];
    char[] signs = new char[region.length];
    boolean gaps = false;
    for (int i = 0; i < region.length; i++) {
      int cell = panel.dots()[i];
      gaps |= cell < 0;
      region[i] = cell < 0 ? -1 : frame.owner()[cell];
      signs[i] = cell < 0 ? ' ' : scene.sign(frame, cell);
    }
    boolean[] there = new boolean[region.length];
    for (int i = 0; i < there.length; i++) {
      there[i] = panel.dots()[i] >= 0;
    }
    // The ground and its grid, then what stands on it.
    if (gaps) {
      line("<path d=\"" + area(panel, there) + "\" fill=\"#FFFFFF\"/>");
    } else {
      line("<rect width=\"" + w + "\" height=\"" + h + "\" fill=\"#FFFFFF\"/>");
    }
    fill(panel, signs, '=', "url(#" + ids + "cordon)");
    fill(panel, signs, '+', "url(#" + ids + "hold)");
    fill(panel, signs, 'X', "#F3D9DC");
    boolean whole = region[0] >= 0 && Arrays.stream(region).allMatch(r -> r == region[0]);
    line(
        "<path d=\""
            + grid(panel, there, whole && panel.cube() >= 0 ? -1 : dot)
            + "\" stroke=\"#D0D7DE\" stroke-width=\"1\" fill=\"none\"/>");
    line(
        "<path d=\""
            + outline(panel, there)
            + "\" stroke=\"#8C959F\" stroke-width=\"1\" fill=\"none\"/>");
    boolean[] done = new boolean[region.length];
    for (int i = 0; i < region.length; i++) {
      if (region[i] >= 0 && !done[i]) {
        boolean[] part = component(panel, region, i);
        for (int k = 0; k < part.length; k++) {
          done[k] |= part[k];
        }
        slice(frame, panel, region[i], part, last);
      }
    }
    marks(panel, signs);
    Arrays.fill(done, false);
    for (int i = 0; i < region.length; i++) {
      if (region[i] >= 0 && !done[i]) {
        boolean[] part = component(panel, region, i);
        for (int k = 0; k < part.length; k++) {
          done[k] |= part[k];
        }
        label(panel, part, scene.slices.get(region[i]).letter());
      }
    }
    if (panel.cube() >= 0) {
      if (scene.isLinkBroken(panel.cube())) {
        line(
            "<path d=\"M"
                + (w - 7)
                + ",-3l7,7m0,-7l-7,7\" stroke=\""
                + RED
                + "\" stroke-width=\"1.8\" fill=\"none\"/>");
      } else if (scene.isCubeDegraded(panel.cube())) {
        line(
            "<path d=\""
                + tilde(w - 11, 1.5, 12)
                + "\" stroke=\"#FFFFFF\" stroke-width=\"4.5\" fill=\"none\"/><path d=\""
                + tilde(w - 11, 1.5, 12)
                + "\" stroke=\""
                + RED
                + "\" stroke-width=\"2\" fill=\"none\"/>");
      }
    }
  }

  private String cubeNote(int cube) {
    return cube < 0
        ? ""
        : scene.isLinkBroken(cube)
            ? ": a link has failed, not for slices of whole cubes"
            : scene.isCubeDegraded(cube) ? ": degraded" : "";
  }

  private void fill(Scene.Panel panel, char[] signs, char sign, String paint) {
    boolean[] part = new boolean[signs.length];
    boolean any = false;
    for (int i = 0; i < signs.length; i++) {
      part[i] = signs[i] == sign;
      any |= part[i];
    }
    if (any) {
      line("<path d=\"" + area(panel, part) + "\" fill=\"" + paint + "\"/>");
    }
  }

  private void slice(
      Scene.Frame frame, Scene.Panel panel, int number, boolean[] part, boolean last) {
    Scene.Slice slice = scene.slices.get(number);
    String area = area(panel, part);
    line("<g><title>" + escape(slice.letter() + ": " + entry(slice)) + "</title>");
    line("<path d=\"" + area + "\" fill=\"" + TINTS[number % TINTS.length] + "\"/>");
    int hatch = number / TINTS.length % HATCHES;
    if (hatch > 0) {
      line("<path d=\"" + area + "\" fill=\"url(#" + ids + "h" + hatch + ")\"/>");
    }
    boolean bold = changes(slice, last);
    line(
        "<path d=\""
            + outline(panel, part)
            + "\" stroke=\""
            + (bold ? INK : DEEP[number % DEEP.length])
            + "\" stroke-width=\""
            + (bold ? "2.4" : "1.2")
            + "\" stroke-linecap=\"square\""
            + (!last && bold ? " stroke-dasharray=\"3 3.5\"" : "")
            + " fill=\"none\"/>");
    line("</g>");
  }

  /** In the last frame what has come, in the first what will go. */
  private boolean changes(Scene.Slice slice, boolean last) {
    return switch (slice.fate()) {
      case STAYS -> false;
      case NEW -> last;
      case MOVED -> true;
      case EVICTED -> !last;
    };
  }

  /** The letter, in the middle of a rectangle, else on the dot nearest the middle. */
  private void label(Scene.Panel panel, boolean[] part, char letter) {
    int minX = Integer.MAX_VALUE;
    int minY = Integer.MAX_VALUE;
    int maxX = -1;
    int maxY = -1;
    int count = 0;
    for (int i = 0; i < part.length; i++) {
      if (part[i]) {
        minX = Math.min(minX, i % panel.cols());
        maxX = Math.max(maxX, i % panel.cols());
        minY = Math.min(minY, i / panel.cols());
        maxY = Math.max(maxY, i / panel.cols());
        count++;
      }
    }
    int columns = maxX - minX + 1;
    int rows = maxY - minY + 1;
    double x = (minX + columns / 2.0) * dot;
    double y = (minY + rows / 2.0) * dot;
    int side = Math.min(columns, rows) * dot;
    if (count != columns * rows) {
      int best = -1;
      double least = Double.MAX_VALUE;
      for (int i = 0; i < part.length; i++) {
        double dx = (i % panel.cols() + 0.5) * dot - x;
        double dy = (i / panel.cols() + 0.5) * dot - y;
        if (part[i] && dx * dx + dy * dy < least) {
          least = dx * dx + dy * dy;
          best = i;
        }
      }
      x = (best % panel.cols() + 0.5) * dot;
      y = (best / panel.cols() + 0.5) * dot;
      side = dot;
    }
    if (count == columns * rows && columns >= 4 && rows >= 4) {
      // Out of the way of crosses: into the first quarter without one.
      int[] crossed = new int[4];
      for (int i = 0; i < part.length; i++) {
        if (part[i] && scene.isFailed(panel.dots()[i])) {
          boolean right = (i % panel.cols() - minX) * 2 >= columns;
          boolean low = (i / panel.cols() - minY) * 2 >= rows;
          crossed[(right ? 1 : 0) + (low ? 2 : 0)]++;
        }
      }
      if (Arrays.stream(crossed).sum() > 0) {
        for (int quarter = 0; quarter < 4; quarter++) {
          if (crossed[quarter] == 0) {
            x += (quarter % 2 == 0 ? -1 : 1) * columns * dot / 4.0;
            y += (quarter < 2 ? -1 : 1) * rows * dot / 4.0;
            side = side * 2 / 3;
            break;
          }
        }
      }
    }
    double size = Math.max(9, Math.min(22, side * 0.62));
    String at =
        "x=\"" + number(x) + "\" y=\"" + number(y + size * 0.36) + "\" font-size=\"" + number(size);
    boolean halo = side > dot;
    line(
        "<text "
            + at
            + "\" pointer-events=\"none\" font-weight=\"700\" text-anchor=\"middle\""
            + (halo
                ? " stroke=\"#FFFFFF\" stroke-opacity=\"0.75\" stroke-width=\"3\""
                    + " stroke-linejoin=\"round\" paint-order=\"stroke\""
                : "")
            + ">"
            + letter
            + "</text>");
  }

  /** Crosses, tildes: what is out of order, over what stands there. */
  private void marks(Scene.Panel panel, char[] signs) {
    StringBuilder cross = new StringBuilder();
    StringBuilder wave = new StringBuilder();
    double in = Math.max(1.5, dot * 0.2);
    for (int i = 0; i < signs.length; i++) {
      int cell = panel.dots()[i];
      if (cell < 0) {
        continue;
      }
      double x = i % panel.cols() * dot;
      double y = i / panel.cols() * dot;
      if (scene.isFailed(cell)) {
        double e = dot - 2 * in;
        cross
            .append("M")
            .append(number(x + in))
            .append(",")
            .append(number(y + in))
            .append("l")
            .append(number(e))
            .append(",")
            .append(number(e))
            .append("m0,")
            .append(number(-e))
            .append("l")
            .append(number(-e))
            .append(",")
            .append(number(e));
      } else if (scene.isDegraded(cell)) {
        wave.append(tilde(x + in, y + dot / 2.0, dot - 2 * in));
      }
    }
    if (cross.length() > 0) {
      line(
          "<path d=\""
              + cross
              + "\" stroke=\""
              + RED
              + "\" stroke-width=\""
              + (dot > 12 ? "2.4" : "2")
              + "\" stroke-linecap=\"round\" fill=\"none\"><title>failed</title></path>");
    }
    if (wave.length() > 0) {
      line(
          "<path d=\""
              + wave
              + "\" stroke=\""
              + RED
              + "\" stroke-width=\"1.6\" fill=\"none\"><title>degraded</title></path>");
    }
  }

  private static String tilde(double x, double y, double width) {
    double q = width / 4;
    return "M"
        + number(x)
        + ","
        + number(y)
        + "q"
        + number(q)
        + ","
        + number(-width * 0.38)
        + " "
        + number(2 * q)
        + ",0t"
        + number(2 * q)
        + ",0";
  }

  // ---------------------------------------------------------------- the legend

  private void swatch(int number, int x, int y, String entry) {
    Scene.Slice slice = scene.slices.get(number);
    String box = "x=\"" + x + "\" y=\"" + y + "\" width=\"24\" height=\"15\"";
    line("<rect " + box + " fill=\"" + TINTS[number % TINTS.length] + "\"/>");
    int hatch = number / TINTS.length % HATCHES;
    if (hatch > 0) {
      line("<rect " + box + " fill=\"url(#" + ids + "h" + hatch + ")\"/>");
    }
    boolean bold = slice.fate() != Scene.Fate.STAYS;
    line(
        "<rect "
            + box
            + " fill=\"none\" stroke=\""
            + (bold ? INK : DEEP[number % DEEP.length])
            + "\" stroke-width=\""
            + (bold ? "2.4" : "1.2")
            + "\""
            + (slice.fate() == Scene.Fate.EVICTED ? " stroke-dasharray=\"3 3.5\"" : "")
            + "/>");
    text(
        x + 12,
        y + 11.8,
        12,
        "font-weight=\"700\" text-anchor=\"middle\" stroke=\"#FFFFFF\" stroke-opacity=\"0.75\""
            + " stroke-width=\"2.5\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
        String.valueOf(slice.letter()));
    text(x + 31, y + 11.8, 12, "", entry);
  }

  private void signs(int x0, int y) {
    double x = x0;
    String frame = "\" width=\"15\" height=\"15\" stroke=\"#8C959F\" fill=\"";
    String[][] signs = {
      {"#FFFFFF", "free", ""},
      {"#F3D9DC", "failed", "X"},
      {"#FFFFFF", "degraded", "~"},
      {"url(#" + ids + "cordon)", "cordoned", "="},
      {"url(#" + ids + "hold)", "held", "+"},
      {"#FFFFFF", "cube with a failed link: no whole-cube slice", "x"}
    };
    for (String[] sign : signs) {
      if (!sign[2].isEmpty() && !shows(sign[2].charAt(0))) {
        continue;
      }
      line("<rect x=\"" + number(x) + "\" y=\"" + y + frame + sign[0] + "\"/>");
      if (sign[2].equals("X")) {
        line(
            "<path d=\"M"
                + number(x + 3)
                + ","
                + (y + 3)
                + "l9,9m0,-9l-9,9\" stroke=\""
                + RED
                + "\" stroke-width=\"2.2\" stroke-linecap=\"round\" fill=\"none\"/>");
      } else if (sign[2].equals("x")) {
        line(
            "<path d=\"M"
                + number(x + 8)
                + ","
                + (y - 3)
                + "l7,7m0,-7l-7,7\" stroke=\""
                + RED
                + "\" stroke-width=\"1.8\" fill=\"none\"/>");
      } else if (sign[2].equals("~")) {
        line(
            "<path d=\""
                + tilde(x + 2, y + 7.5, 11)
                + "\" stroke=\""
                + RED
                + "\" stroke-width=\"1.8\" fill=\"none\"/>");
      }
      text(x + 21, y + 11.8, 12, "fill=\"" + GREY + "\"", sign[1]);
      x += 34 + textWidth(sign[1], 12) * 1.05;
    }
  }

  /** A failed or degraded host is crossed or waved under a slice too. */
  private boolean shows(char sign) {
    if (sign == 'X' && scene.shows('!')) {
      return true;
    }
    if (sign == '~' && !scene.pod.health().degradedCells().isEmpty()) {
      return true;
    }
    return scene.shows(sign);
  }

  private List<String> notes() {
    List<String> notes = new ArrayList<>();
    String each =
        scene.dotsAreHosts
            ? "One square is a host of " + Words.plural(scene.topology.hostTile().chips(), "chip")
            : "One square is " + Words.plural(scene.topology.cellTile().chips(), "chip");
    notes.add(
        each
            + (scene.topology.isOptical() ? "; a block of them is a cube." : ".")
            + (scene.frames.size() > 1 || hasNew()
                ? " Bold: placed or moved by the plan; dashed: on its way out."
                : ""));
    List<Hold> holds = scene.frames.get(scene.frames.size() - 1).holds();
    for (Hold hold : holds.subList(0, Math.min(6, holds.size()))) {
      notes.add(
          Words.shorten("Hold " + hold.id() + " for " + hold.request(), 60)
              + " until "
              + hold.expiry());
    }
    if (holds.size() > 6) {
      notes.add("and " + Words.plural(holds.size() - 6, "more hold"));
    }
    List<String> links = scene.links();
    if (!links.isEmpty()) {
      int shown = Math.min(4, links.size());
      notes.add(
          "Links: "
              + String.join("; ", links.subList(0, shown))
              + (shown < links.size() ? "; and " + (links.size() - shown) + " more" : ""));
    }
    return notes;
  }

  private boolean hasNew() {
    return scene.slices.stream().anyMatch(s -> s.fate() != Scene.Fate.STAYS);
  }

  // ---------------------------------------------------------------- geometry of dots

  /** The dots of the same slice that touch a dot, itself included. */
  private static boolean[] component(Scene.Panel panel, int[] region, int from) {
    boolean[] part = new boolean[region.length];
    int[] stack = new int[region.length];
    int top = 0;
    stack[top++] = from;
    part[from] = true;
    while (top > 0) {
      int i = stack[--top];
      int x = i % panel.cols();
      int[] next = {
        x > 0 ? i - 1 : -1, x + 1 < panel.cols() ? i + 1 : -1, i - panel.cols(), i + panel.cols()
      };
      for (int k : next) {
        if (k >= 0 && k < region.length && !part[k] && region[k] == region[from]) {
          part[k] = true;
          stack[top++] = k;
        }
      }
    }
    return part;
  }

  /** The dots as a path of one rectangle per run; equal runs below one another are one. */
  private String area(Scene.Panel panel, boolean[] part) {
    StringBuilder path = new StringBuilder();
    int cols = panel.cols();
    boolean[] done = new boolean[part.length];
    for (int y = 0; y < panel.rows(); y++) {
      for (int x = 0; x < cols; x++) {
        if (!part[y * cols + x] || done[y * cols + x]) {
          continue;
        }
        int end = x;
        while (end < cols && part[y * cols + end] && !done[y * cols + end]) {
          end++;
        }
        int bottom = y + 1;
        while (bottom < panel.rows() && full(part, done, cols, bottom, x, end)) {
          bottom++;
        }
        for (int v = y; v < bottom; v++) {
          Arrays.fill(done, v * cols + x, v * cols + end, true);
        }
        path.append('M')
            .append(x * dot)
            .append(',')
            .append(y * dot)
            .append('h')
            .append((end - x) * dot)
            .append('v')
            .append((bottom - y) * dot)
            .append('h')
            .append((x - end) * dot)
            .append('z');
      }
    }
    return path.toString();
  }

  private static boolean full(boolean[] part, boolean[] done, int cols, int y, int from, int to) {
    for (int x = from; x < to; x++) {
      if (!part[y * cols + x] || done[y * cols + x]) {
        return false;
      }
    }
    return true;
  }

  private static boolean in(Scene.Panel panel, boolean[] part, int x, int y) {
    return x >= 0 && y >= 0 && x < panel.cols() && y < panel.rows() && part[y * panel.cols() + x];
  }

  /** The edges between dots inside and outside, as runs. */
  private String outline(Scene.Panel panel, boolean[] part) {
    StringBuilder path = new StringBuilder();
    for (int y = 0; y <= panel.rows(); y++) {
      for (int x = 0; x < panel.cols(); x++) {
        int from = x;
        while (x < panel.cols() && in(panel, part, x, y) != in(panel, part, x, y - 1)) {
          x++;
        }
        if (x > from) {
          path.append('M').append(from * dot).append(',').append(y * dot);
          path.append('h').append((x - from) * dot);
        }
      }
    }
    for (int x = 0; x <= panel.cols(); x++) {
      for (int y = 0; y < panel.rows(); y++) {
        int from = y;
        while (y < panel.rows() && in(panel, part, x, y) != in(panel, part, x - 1, y)) {
          y++;
        }
        if (y > from) {
          path.append('M').append(x * dot).append(',').append(from * dot);
          path.append('v').append((y - from) * dot);
        }
      }
    }
    return path.toString();
  }

  /** Lines between dots; nothing for a step below 1. */
  private String grid(Scene.Panel panel, boolean[] there, int step) {
    StringBuilder path = new StringBuilder();
    if (step < 1) {
      return path.toString();
    }
    for (int y = 1; y < panel.rows(); y++) {
      int run = 0;
      while (run < panel.cols() && there[y * panel.cols() + run]) {
        run++;
      }
      path.append("M0,").append(y * step).append('h').append(run * step);
    }
    for (int x = 1; x < panel.cols(); x++) {
      int run = 0;
      while (run < panel.rows() && there[run * panel.cols() + x]) {
        run++;
      }
      path.append('M').append(x * step).append(",0v").append(run * step);
    }
    return path.toString();
  }
}
