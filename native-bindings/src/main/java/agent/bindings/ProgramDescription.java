package agent.bindings;

/**
 * A live program, as the kernel describes it.
 *
 * @param id the kernel's number for it
 * @param type a number of {@link ProgramType}
 * @param name at most 15 characters
 * @param tag hash of its instructions, 16 hexadecimal digits
 * @param instructions after the verifier's rewriting
 * @param verifiedInstructions that the verifier walked to accept it
 * @param jitedBytes size of its machine code
 * @param btfId of its BTF, or 0
 */
public record ProgramDescription(
    int id,
    int type,
    String name,
    String tag,
    int instructions,
    int verifiedInstructions,
    int jitedBytes,
    int btfId) {}
