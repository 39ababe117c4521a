package agent.maps.mirror;

/** Receives the contents of a map, entry by entry, as they are read. */
public interface MapVisitor {
  /**
   * Handles the map itself; called once, before the entries.
   *
   * @param mirroredAtMs time of the contents, in ms since the epoch
   */
  void onMap(MapSummary map, long mirroredAtMs);

  /**
   * Handles one entry; the texts are valid during the call.
   *
   * @param lastError the error of the desired action, or null
   * @return false to stop reading
   */
  boolean onEntry(CharSequence key, CharSequence value, DesiredAction action, String lastError);
}
