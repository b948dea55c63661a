/** RocketMQ's remoting protocol as bytes: frames, headers, codes, JSON bodies. No I/O. */
export { REQUEST_CODE, RESPONSE_CODE, requestCodeName } from './codes.ts'
export {
  encodeFrame,
  encodeSendResponse,
  encodeSendResponseFrame,
  SEND_RESPONSE_BYTES_MAX,
  WIRE_VERSION,
  type HeaderFields,
  type SendResponse,
} from './encode.ts'
export { FRAME_BYTES_MAX, FrameDecoder, FrameView, type SerializeType } from './frame-decoder.ts'
export {
  decodeHeader,
  emptyFields,
  isOneway,
  isResponse,
  ONEWAY_FLAG,
  RESPONSE_FLAG,
  type ExtFields,
  type Header,
} from './header.ts'
export { SendHeader, sendHeaderFrom } from './send-header.ts'
export { scanSendHeader } from './send-header-scanner.ts'
