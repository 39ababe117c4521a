package agent.maps.kernel;

/** How the copy of a map that readers see is kept up to date. */
public enum MirrorMode {
  /** Small and written by the agent alone: every write goes to the mirror as well. */
  JOURNALLED,
  /** Large and written by the agent alone: copied when it is read after a change. */
  ON_CHANGE,
  /** Written by programs or through a mapping: copied when the copy is older than the interval. */
  ON_AGE,
  /** Never copied: read from the kernel, where each reader holds a bounded part of it. */
  DIRECT
}
