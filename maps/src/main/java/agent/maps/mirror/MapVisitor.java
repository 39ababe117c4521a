package agent.maps.mirror;

/** Takes the contents of a map as they are read, entry by entry. */
public interface MapVisitor {
  /**
   * Comes first and once.
   *
   * @param mirroredAtMs when the contents were copied from the kernel, in ms since the epoch
   */
  void onMap(MapSummary map, long mirroredAtMs);

  /**
   * One entry; the texts are valid during the call.
   *
   * @param lastError why the desired action failed, or null
   * @return false to end the reading
   */
  boolean onEntry(CharSequence key, CharSequence value, DesiredAction action, String lastError);
}
