-- Kernel invocations of Stroma, as docs/wire.md lays them out: BTH op-codes 0xD8 to 0xDF.
--
-- Wireshark's own dissector reads Ethernet to BTH and takes what follows for a vendor's data. This one comes behind it, for
-- IPv4 and IPv6, tagged or not, and reads on from the BTH. It never reads beyond what was captured: a frame that ends too early
-- shows as much as there is, and a warning.

local BTH_BYTES, ICRC_BYTES = 12, 4
-- What follows the BTH, by op-code.
local KINDS = {
  [0xd8] = { name = "RPC_PARAMS", reth = true },
  [0xd9] = { name = "RPC_WRITE_FIRST", reth = true },
  [0xda] = { name = "RPC_WRITE_MIDDLE" },
  [0xdb] = { name = "RPC_WRITE_LAST" },
  [0xdc] = { name = "RPC_WRITE_ONLY", reth = true },
  [0xdd] = { name = "RPC_RESPONSE" },
  [0xde] = { name = "RPC_RESPONSE_END", aeth = true, end_of_rpc = true },
  [0xdf] = { name = "RPC_BUSY", aeth = true },
}
local STATUSES = {
  [0] = "Ok", [1] = "UnknownOperation", [2] = "Access", [3] = "Limit", [4] = "Aborted", [5] = "TooLong", [6] = "Host",
}
-- Statuses from here on are the kernel's own.
local KERNEL = 0x100
-- What the three upper bits of a syndrome say.
local SYNDROMES = { [0] = "ack", [1] = "rnr-nak", [3] = "nak" }

local names = {}
for code, kind in pairs(KINDS) do names[code] = kind.name end

local stroma = Proto("stroma", "Stroma kernel invocation")
local field = {
  opcode = ProtoField.uint8("stroma.opcode", "Op-code", base.HEX, names),
  response_max = ProtoField.uint32("stroma.response_max", "Largest answer in bytes", base.DEC),
  flags = ProtoField.uint8("stroma.flags", "Flags for the kernel", base.HEX),
  parameter_words = ProtoField.uint8("stroma.parameter_words", "Parameters in 4-byte units", base.DEC),
  operation = ProtoField.uint16("stroma.operation", "RPC op-code", base.HEX),
  key = ProtoField.uint32("stroma.key", "Key the kernel acts under", base.HEX),
  length = ProtoField.uint32("stroma.length", "Bytes of the request's payload", base.DEC),
  syndrome = ProtoField.uint8("stroma.syndrome", "Syndrome", base.HEX),
  msn = ProtoField.uint24("stroma.msn", "Messages completed", base.DEC),
  status = ProtoField.uint32("stroma.status", "Status", base.HEX),
  bytes = ProtoField.uint32("stroma.bytes", "Bytes of the whole answer", base.DEC),
  parameters = ProtoField.bytes("stroma.parameters", "Parameters"),
  payload = ProtoField.bytes("stroma.payload", "Payload"),
  payload_length = ProtoField.uint32("stroma.payload_length", "Payload length", base.DEC),
  icrc = ProtoField.uint32("stroma.icrc", "Invariant CRC", base.HEX),
}
local truncated = ProtoExpert.new("stroma.truncated", "The packet ends too early", expert.group.MALFORMED, expert.severity.WARN)
stroma.fields = field
stroma.experts = { truncated }

local bth_of, opcode_of = Field.new("infiniband.bth"), Field.new("infiniband.bth.opcode")
local udp_length_of = Field.new("udp.length")

local function status_name(code)
  return STATUSES[code] or code >= KERNEL and string.format("kernel's own 0x%x", code) or string.format("unknown 0x%x", code)
end

-- Where an RPC goes: the RETH, whose address field says it.
local function reth(tree, range)
  local words, operation = range(5, 1):uint(), range(6, 2):uint()
  local branch = tree:add(stroma, range, "RETH as RPC target")
  branch:add(field.response_max, range(0, 4))
  branch:add(field.flags, range(4, 1))
  branch:add(field.parameter_words, range(5, 1))
  branch:add(field.operation, range(6, 2))
  branch:add(field.key, range(8, 4))
  branch:add(field.length, range(12, 4))
  return words * 4, string.format(" rpc 0x%x response-max %d len %d", operation, range(0, 4):uint(), range(12, 4):uint())
end

local function aeth(tree, range)
  local syndrome = range(0, 1):uint()
  local meaning = SYNDROMES[bit.rshift(syndrome, 5)] or "reserved"
  local branch = tree:add(stroma, range, "AETH")
  branch:add(field.syndrome, range(0, 1)):append_text(" (" .. meaning .. ")")
  branch:add(field.msn, range(1, 3))
  return " " .. meaning
end

-- How an RPC ended.
local function rpceth(tree, range)
  local name, bytes = status_name(range(0, 4):uint()), range(4, 4):uint()
  local branch = tree:add(stroma, range, "RpcEth")
  branch:add(field.status, range(0, 4)):append_text(" (" .. name .. ")")
  branch:add(field.bytes, range(4, 4))
  return string.format(" status %s bytes %d", name, bytes)
end

-- Returns what the info column says behind the op-code's name.
local function headers_and_payload(kind, tree, packet, pad)
  local at, told, parameters = BTH_BYTES, "", 0
  -- The next so many bytes before the ICRC, or none and a warning.
  local function take(count)
    if at + count > packet:len() - ICRC_BYTES then
      tree:add_proto_expert_info(truncated)
      return nil
    end
    at = at + count
    return packet(at - count, count)
  end
  local headers = {
    { kind.reth, 16, function(range)
      local text
      parameters, text = reth(tree, range)
      return text
    end },
    { kind.aeth, 4, function(range) return aeth(tree, range) end },
    { kind.end_of_rpc, 8, function(range) return rpceth(tree, range) end },
  }
  for _, header in ipairs(headers) do
    local is_carried, length, read = header[1], header[2], header[3]
    if is_carried then
      local range = take(length)
      if not range then return told .. " truncated" end
      told = told .. read(range)
    end
  end
  local length = packet:len() - ICRC_BYTES - pad - at
  if length < 0 then
    tree:add_proto_expert_info(truncated)
    return told .. " truncated"
  end
  tree:add(field.payload_length, length):set_generated()
  if length > 0 then
    local payload = tree:add(field.payload, packet(at, length))
    if parameters > length then
      tree:add_proto_expert_info(truncated)
      parameters = length
    end
    if parameters > 0 then payload:add(field.parameters, packet(at, parameters)) end
    told = told .. string.format(" payload %d", length)
  end
  tree:add_le(field.icrc, packet(packet:len() - ICRC_BYTES, ICRC_BYTES))
  return told
end

function stroma.dissector(frame, pinfo, root)
  local bth, opcode, udp_length = bth_of(), opcode_of(), udp_length_of()
  local kind = bth and opcode and udp_length and KINDS[opcode.value]
  -- A packet put together from fragments does not lie in the frame.
  if not kind or bth.offset + BTH_BYTES > frame:len() or frame(bth.offset, 1):uint() ~= opcode.value then return end
  -- UDP says where the packet ends; a capture may end before.
  local length = math.min(udp_length.value - 8, frame:len() - bth.offset)
  if length < BTH_BYTES then return end
  local packet = frame(bth.offset, length)
  local tree = root:add(stroma, packet, "Stroma " .. kind.name)
  tree:add(field.opcode, packet(0, 1))
  local pad = bit.band(bit.rshift(packet(1, 1):uint(), 4), 3)
  local told = headers_and_payload(kind, tree, packet, pad)
  pinfo.cols.protocol = "Stroma"
  pinfo.cols.info = string.format("%s qp 0x%06x psn 0x%06x%s", kind.name, packet(5, 3):uint(), packet(9, 3):uint(), told)
end

register_postdissector(stroma)
