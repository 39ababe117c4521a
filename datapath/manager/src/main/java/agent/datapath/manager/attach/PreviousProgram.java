package agent.datapath.manager.attach;

import agent.bindings.Descriptors;

/** The program that was on a hook, held by its descriptor; negative where there was none. */
record PreviousProgram(TcAttachment attachment, Hook hook, int programFd)
    implements TcAttachment.Previous {
  @Override
  public void putBack() {
    if (programFd < 0) {
      attachment.detach(hook);
      return;
    }
    try {
      attachment.attach(hook, programFd).release();
    } finally {
      release();
    }
  }

  @Override
  public void release() {
    Descriptors.close(programFd);
  }
}
