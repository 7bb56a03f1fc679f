package dev.slicewright.report;

import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Plan;
import java.util.Objects;

/**
 * A picture of one pod: what runs where, and what is failed, degraded, cordoned or held; as text
 * and as SVG. Immutable, safe to share.
 *
 * <p>A sign is a host (a chip where several slices share one). Optical pods are drawn cube by cube,
 * z layers of cubes side by side; inside a cube the hosts are arranged so that partitions are
 * rectangles. Others are drawn layer by layer. In every layer x grows to the right and y downwards;
 * pods without known coordinates are drawn in the order of their partitions.
 *
 * <p>Running slices have small letters and digits, slices that a plan places or brings here have
 * capitals; letters are used again where there are more slices. Both pictures can be read without
 * colour. The same pod and plan give the same bytes in every locale. O(cells + slices x their
 * cells).
 */
public final class PodPicture {

  private final Scene scene;

  private PodPicture(Scene scene) {
    this.scene = scene;
  }

  /**
   * A pod as it is, with every hold on it, expired or not.
   *
   * @param pod the pod
   * @return the picture
   */
  public static PodPicture of(Pod pod) {
    return new PodPicture(Scene.of(Objects.requireNonNull(pod, "pod")));
  }

  /**
   * A pod as it will be once a plan is carried out.
   *
   * @param pod the pod, of the fleet that the plan was made from
   * @param plan the plan; holds are shown that are live at its {@code rules().now()}
   * @return the picture
   */
  public static PodPicture after(Pod pod, Plan plan) {
    Objects.requireNonNull(plan, "plan");
    return new PodPicture(Scene.after(Objects.requireNonNull(pod, "pod"), plan));
  }

  /**
   * A pod before and after a plan: side by side as SVG, one above the other as text.
   *
   * @param pod the pod, of the fleet that the plan was made from
   * @param plan the plan
   * @return the picture
   */
  public static PodPicture beforeAndAfter(Pod pod, Plan plan) {
    Objects.requireNonNull(plan, "plan");
    return new PodPicture(Scene.both(Objects.requireNonNull(pod, "pod"), plan));
  }

  /**
   * The picture as text, lines of about 100 columns at most, each ended by {@code \n}.
   *
   * <p>Signs: {@code .} free, {@code X} failed, {@code !} failed under a slice, {@code ~} free and
   * degraded, {@code =} free and cordoned, {@code +} held; of a cube, {@code #} where its hosts
   * differ (it is drawn again below), {@code x} where a failed link keeps it out of slices of whole
   * cubes.
   *
   * @return the text
   */
  public String text() {
    return TextDrawing.draw(scene);
  }

  /**
   * The picture as an SVG document: valid XML, no script, no outside resource, a title and a
   * description for screen readers, and a tooltip on every slice, host out of order and cube.
   *
   * @return the document
   */
  public String svg() {
    return SvgDrawing.draw(scene);
  }
}
