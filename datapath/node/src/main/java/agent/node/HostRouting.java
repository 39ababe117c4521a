package agent.node;

import agent.types.Refusal;
import java.util.List;
import java.util.Locale;

/**
 * How the node routes the flows of its workloads: by the programs, past the stack, or by the stack;
 * both directions of a flow the same way.
 *
 * @param mode the mode in force
 * @param reason why, for operators
 * @param isDoubtful whether flows bypass something that is configured for them
 */
public record HostRouting(Mode mode, String reason, boolean isDoubtful) {
  /** The ways of flows; {@link #text} is the value of {@code host-routing.mode}. */
  public enum Mode {
    /** By the programs, where the kernel's routes lead to a device with the host program. */
    BPF("BPF"),
    /** By the stack. */
    LEGACY("Legacy");

    private final String text;

    Mode(String text) {
      this.text = text;
    }

    /** Returns the value in the contract. */
    public String text() {
      return text;
    }
  }

  /** The values of {@code --host-routing}. */
  public enum Choice {
    /** BPF where nothing on the node needs the stack. */
    AUTO,
    BPF,
    LEGACY;

    /**
     * Parses a value of the option.
     *
     * @throws Refusal INVALID naming the option
     */
    public static Choice parse(String option, String text) {
      for (final Choice choice : values()) {
        if (choice.name().toLowerCase(Locale.ROOT).equals(text)) {
          return choice;
        }
      }
      throw Refusal.invalid(option, "'" + text + "' is not auto, bpf or legacy");
    }
  }

  /**
   * Chooses the mode.
   *
   * @param choice what the operator wants
   * @param needs what on the node needs the stack; empty: nothing
   */
  static HostRouting choose(Choice choice, List<String> needs) {
    return switch (choice) {
      case LEGACY -> new HostRouting(Mode.LEGACY, "--host-routing=legacy", false);
      case BPF ->
          needs.isEmpty()
              ? new HostRouting(Mode.BPF, "--host-routing=bpf", false)
              : new HostRouting(Mode.BPF, "--host-routing=bpf, flows bypass: " + text(needs), true);
      case AUTO ->
          needs.isEmpty()
              ? new HostRouting(Mode.BPF, "nothing on this node requires the network stack", false)
              : new HostRouting(Mode.LEGACY, text(needs), false);
    };
  }

  private static String text(List<String> needs) {
    final int more = needs.size() - 1;
    return needs.getFirst() + (more > 0 ? ", and " + more + " more" : "");
  }

  /** Returns whether flows bypass the stack. */
  public boolean bypassesStack() {
    return mode == Mode.BPF;
  }
}
