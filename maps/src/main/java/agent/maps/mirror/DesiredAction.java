package agent.maps.mirror;

import java.util.Locale;

/** The action that makes an entry of the kernel equal to the desired entry. */
public enum DesiredAction {
  /** None: the kernel holds the desired entry. */
  OK,
  /** Insert the entry, which the kernel refused to write. */
  INSERT,
  /** Delete the entry, which the kernel refused to delete. */
  DELETE;

  /** Returns the name that the API uses (decisions.md, section 3). */
  public String text() {
    return name().toLowerCase(Locale.ROOT);
  }
}
