package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfProgram;

/** The program that an attachment replaced. The caller of {@link Attachment#attach} closes it. */
public final class PreviousProgram implements AutoCloseable {
  private final Attachment attachment;
  private final BpfProgram programOrNull;

  /**
   * Wraps the replaced program.
   *
   * @param programOrNull closed by this object; null where the agent had attached no program
   */
  PreviousProgram(Attachment attachment, BpfProgram programOrNull) {
    this.attachment = attachment;
    this.programOrNull = programOrNull;
  }

  /**
   * Attaches the previous program again, or detaches the new program where there was no previous
   * one.
   *
   * @throws AttachException where the kernel refuses
   */
  public void restore() {
    if (programOrNull == null) {
      attachment.detach();
    } else {
      attachment.attach(programOrNull).close();
    }
  }

  /** Closes the previous program; does not change the hook. */
  @Override
  public void close() {
    if (programOrNull != null) {
      programOrNull.close();
    }
  }
}
