package agent.datapath.programs.attach;

import agent.bindings.bpf.BpfObject;
import agent.bindings.bpf.BpfProgram;

/**
 * The attachment of at most one program of the agent to one hook. Programs that other software
 * attached to the same hook are not changed. No descriptor stays open between calls but that of a
 * {@link WatchedHook}.
 */
public interface Attachment {
  /**
   * Attaches the program, or atomically replaces the program that the agent attached before.
   *
   * @return the replaced program; the caller restores it or only closes it
   * @throws AttachException where the kernel refuses; the previous program stays attached
   */
  PreviousProgram attach(BpfProgram program);

  /**
   * Detaches the program of the agent where one is attached.
   *
   * @throws AttachException where the kernel refuses
   */
  void detach();

  /**
   * Returns whether a program of the agent is attached to the hook.
   *
   * @throws AttachException where the kernel cannot be queried
   */
  boolean isAttached();

  /**
   * Returns the name of the attached program of the agent, of which the kernel keeps 15 characters;
   * empty where none is attached.
   *
   * @throws AttachException where the kernel cannot be queried
   */
  String attachedProgram();

  /**
   * Attaches a program as {@link #attach} does, but for a closed one, which replaces no program
   * that judges packets (see {@link ClosedPrograms}).
   *
   * @param program name of the program that the hook is for
   * @return whether a program that judges packets is attached now
   */
  default boolean attachJudging(BpfObject object, String program) {
    if (!ClosedPrograms.isClosed(object)) {
      attach(object.program(program)).close();
      return true;
    }
    final String before = attachedProgram();
    if (!before.isEmpty() && !ClosedPrograms.isClosed(before)) {
      return true;
    }
    attach(ClosedPrograms.in(object, program)).close();
    return false;
  }

  /**
   * Opens the attached program for comparisons with the kernel; the caller closes it.
   *
   * @throws AttachException where no program of the agent is attached, or it cannot be opened
   */
  WatchedHook watch();
}
