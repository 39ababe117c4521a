/** Tests the attachment of programs to hooks without the conductor. */
package agent.datapath.programs.attach;
