package agent.datapath.programs.compile;

/** One source file of {@code bpf-src/programs} and the object that is compiled from it. */
public enum ProgramFile {
  ENDPOINT("endpoint"),
  HOST("host"),
  PREFILTER("prefilter"),
  BALANCER("balancer"),
  PREFILTER_BALANCER("prefilter_balancer"),
  CONNTRACK_GC("conntrack_gc"),
  SOCKET("socket"),
  SOCKET_FIND("socket_find"),
  SOCKET_END("socket_end"),
  PROXY_FILTER("proxy_filter"),
  /** What takes the place of programs that the kernel refuses. */
  CLOSED("closed");

  private final String stem;

  ProgramFile(String stem) {
    this.stem = stem;
  }

  /** Returns the file name without its suffixes, which is also the name of the object. */
  public String stem() {
    return stem;
  }

  /** Returns whether {@link #CLOSED} has programs for the hooks of this object. */
  public boolean canBeClosed() {
    return switch (this) {
      case ENDPOINT, HOST, PREFILTER, PREFILTER_BALANCER -> true;
      default -> false;
    };
  }

  /** Returns whether a supported kernel may lack what it needs; its user says what is missing. */
  public boolean isOptional() {
    return this == SOCKET_FIND || this == SOCKET_END;
  }

  String source() {
    return "programs/" + stem + ".bpf.c";
  }

  String object() {
    return stem + ".bpf.o";
  }
}
