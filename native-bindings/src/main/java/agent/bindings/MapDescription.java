package agent.bindings;

/**
 * A live map, as the kernel describes it.
 *
 * @param id the kernel's number for it
 * @param type a number of {@link MapType}
 * @param name at most 15 characters
 * @param keySize in bytes
 * @param valueSize in bytes
 * @param maxEntries capacity
 * @param flags BPF_F_ bits
 * @param btfId of its BTF, or 0
 * @param btfKeyTypeId the key's type in that BTF, or 0
 * @param btfValueTypeId the value's type in that BTF, or 0
 */
public record MapDescription(
    int id,
    int type,
    String name,
    int keySize,
    int valueSize,
    int maxEntries,
    int flags,
    int btfId,
    int btfKeyTypeId,
    int btfValueTypeId) {}
