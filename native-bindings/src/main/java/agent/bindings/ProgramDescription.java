package agent.bindings;

/**
 * The kernel's description of a loaded program.
 *
 * @param id the kernel's number for it
 * @param type a number of {@code enum bpf_prog_type} (linux/bpf.h)
 * @param name at most 15 characters
 * @param tag hash of its instructions, 16 hexadecimal digits
 * @param instructions number of instructions after the verifier's rewriting
 * @param verifiedInstructions number of instructions that the verifier processed
 */
public record ProgramDescription(
    int id, int type, String name, String tag, int instructions, int verifiedInstructions) {}
