package agent.datapath.manager;

/** The names of the health modules of the datapath, which are stable. */
final class HealthModules {
  /** What the kernel lacks. */
  static final String KERNEL = "kernel";

  /** The programs that the kernel takes. */
  static final String PROGRAMS = "dp-programs";

  /** The contents of the maps. */
  static final String MAPS = "dp-maps";

  /** The comparison with the kernel. */
  static final String GUARD = "dp-guard";

  /** Packets that are dropped for lack of something. */
  static final String DROPS = "dp-drops";

  /** The conntrack sweeps. */
  static final String SWEEPS = "conntrack-sweeps";

  /** What endpoints use of the conntrack tables. */
  static final String SHARES = "conntrack-shares";

  private HealthModules() {}
}
