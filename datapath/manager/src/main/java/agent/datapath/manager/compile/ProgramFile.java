package agent.datapath.manager.compile;

/** One C file of {@code bpf-src/programs}, and the object it becomes. */
public enum ProgramFile {
  ENDPOINT("endpoint"),
  CLOSED("closed"),
  HOST("host"),
  PREFILTER("prefilter"),
  CONNTRACK_GC("conntrack_gc");

  private final String stem;

  ProgramFile(String stem) {
    this.stem = stem;
  }

  /** The name without its endings, which is also the object's name in the kernel. */
  public String stem() {
    return stem;
  }

  String source() {
    return "programs/" + stem + ".bpf.c";
  }

  String object() {
    return stem + ".bpf.o";
  }
}
